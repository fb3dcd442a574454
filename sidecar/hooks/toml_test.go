package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInstall_takesAllThatTOMLAllows(t *testing.T) {
	for _, text := range []string{
		"a=1 # c\n\"\" = 1", "a . \"b.c\" . d = 1", "1234 = 1\n-_ = 2",
		`a = "\b\t\n\f\r\e\x41\"\\\u00e9\U0001f600"`,
		"a = \"\"\"\n\"quotes\", \"\"two\"\", at the end \"\"\"\"\"",
		"a = \"\"\"x \\   \r\n   y\\\n\n\"\"\"",
		"a = '''\\ no escape, it's '' '''''",
		"a = +99\nb = 0\nc = -17\nd = 1_000\ne = 0xDEAD_beef\nf = 0o01234567\ng = 0b1101",
		"a = +1.0\nb = 6.626e-34\nc = 5e+22\nd = -0.0\ne = inf\nf = +nan\ng = 9_224.5_1",
		"a = 1979-05-27T07:32:00.999-07:00\nb = 1979-05-27 07:32:00\nc = 1979-05-27\nd = 07:32:00.5\ne = 07:32\nf = 1979-05-27t07:32z",
		"a = [ ]\nb = [ [1, 2], [\"a\", 'b'], # c\n # d\n { x = 1 }, ]",
		"a = {}\nb = { c.d = 1, 'e' = [ { f = 2 } ], }\nc = { # c\n x = 1,\n}",
		"[ a . b ]\nk = 1\n[a]\nk = 1\n[a.c]\nk = 1",
		"[[f]]\nn = 1\n[f.p]\nn = 1\n[[f]]\nn = 1\n[f.p]\nn = 1\n[[f.v]]\n[[f.v]]",
		"[\"a]\"] # ]\n\t# c\n\n", "a = true\r\nb = false\r\n",
	} {
		installed, err := Install("codex", []byte(text), program)
		require.NoError(t, err, text)
		back, err := Uninstall("codex", installed, program)
		require.NoError(t, err, text)
		assert.Equal(t, text, string(back))
	}
}
