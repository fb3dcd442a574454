package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// mistakes are command lines with typical mistakes, by the kind of mistake. The world is that of TestU13_errorsNameTheNextStep:
// ada (%0) and ben (%1) are in the chat plans, cyd (%2) is in none; all of them read lines; %3 holds a shell.
var mistakes = []struct{ kind, lines string }{
	{"the command", `
frob
chta list
chat strat %0 %1
chat
start %0 %1
list
stop plans
pause --all
chat strat %0 --all
kill ada
`},
	{"a flag", `
--version=perhaps
staus --json
status --jsno
chat start %0 %1 --dept 3
send ada hello --wiat answered
adopt -t %7
log --limt 3
log -n 5
`},
	{"a value", `
send ada hello --wait done
send ada hello --timeout 5
chat start ada cyd --set depth=many
chat start ada cyd --set dpeth=3
chat start ada cyd --set depth
adopt %2 --as claud
log --limit ten
aea install --repository /nowhere
`},
	{"the pane", `
adopt 7
adopt ada
adopt %99
adopt @99
adopt base:9.9
adopt {right}
adopt %3
adopt %3 --as line
adopt %2 --as line
adopt base:0.0; --as line
release %3
explain work:0.1
send %3 hello
chat start 0 1
`},
	{"a name or an id", `
send alice hello
send adda hello
chat show plan
chat say plnas hello
chat start ada ada
chat start ada cyd
chat start ada
send "ada lovelace" hello
chat start ada "ben okri"
name cyd ada
name cyd "a b"
inbox approve 12345678
log 0199aaaa
inbox show 12
`},
	{"the chat", `
chat add plans ada
chat remove plans cyd
chat mute plans cyd
chat resume plans
chat pause
chat stop
chat start --again plans
ask ada
ask cyd --from ada
`},
	{"order and quoting", `
chat say hello plans
send ada say hello
send hello
send ada - hello
send ada -x
chat say plans ""
send "" hello
`},
	{"no tmux, no sidecar", `
status --server /nowhere
adopt %0 --server /nowhere
log --server /nowhere
`},
}

// The output for all these mistakes is in one golden file, which a person can read from top to bottom.
func TestU25_Mistakes(t *testing.T) {
	t.Parallel()
	st := newErrorStage(t)
	var told strings.Builder
	n := 0
	for _, part := range mistakes {
		fmt.Fprintf(&told, "# %s\n", part.kind)
		for line := range strings.Lines(strings.TrimPrefix(part.lines, "\n")) {
			line = strings.TrimSpace(line)
			n++
			out, complaint, code := st.apart(typedWords(line)...)
			fmt.Fprintf(&told, "\n$ intercom %s\n%s%s[%d]\n", line, out, complaint, code)
		}
		told.WriteString("\n")
	}
	assert.GreaterOrEqual(t, n, 40)
	got := told.String()
	for _, changes := range []struct{ what, by string }{
		{regexp.QuoteMeta(st.Socket), "SOCKET"},
		{regexp.QuoteMeta(st.home), "HOME"},
		{regexp.QuoteMeta(st.Dir), "DIR"},
		{`/tmp/tmux-\d+/`, "/tmp/tmux-UID/"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
		{`\b(plans) [0-9a-f]{8}\b`, "$1 ID"},
	} {
		got = regexp.MustCompile(changes.what).ReplaceAllString(got, changes.by)
	}
	file := filepath.Join("testdata", "mistakes.txt")
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// typedWords are the words of a command line; quotes keep words together.
func typedWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
