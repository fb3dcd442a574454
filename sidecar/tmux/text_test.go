package tmux

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCondition_comparesEverythingOnce(t *testing.T) {
	cond, err := condition("%7", Facts{raw: "%7|0|1|0|0|42|0|1|3|4|100|80", Mark: "pasted.1.a-b"}, "", Keys{})
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(cond.String(), ",%7|0|0|0|0|42|0|1|3|4|100|80|pasted.1.a-b},#{pid}}"), "in a mode is never typed into: %s", cond)
	for _, f := range compared {
		assert.Equal(t, 1, strings.Count(cond.String(), f.field.Format().String()))
	}
	for _, facts := range []string{"", "%7", "%7|0|0|0|0|42|0|1|3|4|100|80|", "%7|0|0|0|0|42}|0|1|3|4|100|80", "%7|0|0|0|0|4,2|0|1|3|4|100|80", "|0|0|0|0|42|0|1|3|4|100|80"} {
		_, err := condition("%7", Facts{raw: facts}, "", Keys{})
		assert.Error(t, err, facts)
	}
}

func TestRecords_anyTextInAField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const sep = "ic-00ff"
		n := rapid.IntRange(1, 5).Draw(t, "fields")
		rows := rapid.SliceOf(rapid.SliceOfN(rapid.String(), n, n)).Draw(t, "rows")
		var reply strings.Builder
		for _, r := range rows {
			reply.WriteString(sep + strings.Join(r, sep) + sep + "\n")
		}
		got, err := records(reply.String(), sep, n)
		if err != nil || len(got) != len(rows) {
			t.Fatalf("%q: %d rows of %d, %v", reply.String(), len(got), len(rows), err)
		}
		for i := range rows {
			if strings.Join(got[i], sep) != strings.Join(rows[i], sep) {
				t.Fatalf("row %d is %q, want %q", i, got[i], rows[i])
			}
		}
	})
}

func TestExpandTabs(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb":                 "a       b",
		"\t|":                  "        |",
		"12345678\tx":          "12345678        x",
		"日本\tx":                "日本    x",
		"e\u0301\tx":           "e\u0301       x",
		"\x1b[31mred\x1b[m\tx": "\x1b[31mred\x1b[m     x",
		"\x1b]8;;http://e\x1b\\l\x1b]8;;\x1b\\\tx": "\x1b]8;;http://e\x1b\\l\x1b]8;;\x1b\\       x",
		"\x1b[\t": "\x1b[\t",
	} {
		assert.Equal(t, want, expandTabs(in, 0))
	}
	assert.Equal(t, strings.Repeat("x", 12)+"      y", expandTabs(strings.Repeat("x", 12)+"\ty", 10), "columns of a joined line begin anew at each row")
}

func TestControlIsSafe(t *testing.T) {
	for version, want := range map[string]bool{
		"3.8": true, "3.8a": true, "3.10": true, "4.0": true,
		"3.2a": false, "3.7c": false, "next-3.8": false, "3.8-rc": false, "master": false, "openbsd-7.8": false, "": false,
	} {
		assert.Equal(t, want, controlIsSafe(version), version)
	}
}
