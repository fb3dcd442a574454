package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandLine(t *testing.T) {
	for text, want := range map[string][2]string{
		"/next-work":                {"/next-work", "/next-work"},
		"/next-work \n":             {"/next-work", "/next-work"},
		"/next-work fast, 12 ärzte": {"/next-work", "/next-work fast, 12 ärzte"},
		"/a_b x/y.go #12 a=b+c":     {"/a_b", "/a_b x/y.go #12 a=b+c"},
		"/x  two":                   {"/x", "/x  two"},
	} {
		name, line, ok := CommandLine(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, [2]string{name, line}, text)
	}
	for _, text := range []string{
		"", "/", "//", "/-x", "x", " /x", "/X", "/x\ty", "/x\ny", "/x\u00a0y", "/x @y", "/x $y", "/x `y`", "/x !y", "/x \\", "/x \"y\"", "/x {y}", "/x <y>", "/x a\x00", "/x:y", "/x é\u200b", "/x \x1b[A",
	} {
		_, _, ok := CommandLine(text)
		assert.False(t, ok, "%q", text)
	}
	assert.NoError(t, CheckCommand("/next-work"))
	for _, name := range []string{"", "next-work", "/next-work fast", "/next-work ", "/*", "/", "/.*", "/Next"} {
		assert.Error(t, CheckCommand(name), "%q", name)
	}
}
