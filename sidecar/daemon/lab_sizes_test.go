package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// beside is how many bytes may stand beside a body in one paste.
const beside = 100

// Messages of every size reach the model of each agent once, intact and in order, of one line
// or of several: typed, or in a file.
func TestLab_V1_EachSizeArrivesWhole(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		prof, ok := profile.AgentByName(string(a.Kind))
		require.True(t, ok)
		files := l.reading()
		chat, ben := l.alone(a)
		l.mute(chat, ben.pane) // what the program says does not matter here
		var want []string
		for _, size := range []int{10, 1 << 10, prof.InlineMax - beside, 10 << 10, 100 << 10} {
			for n := range long(4, 100) {
				body := sized(fmt.Sprintf("%d ", n), size, []string{" ", "\n"}[n%2])
				id := l.tellAll(chat, body)
				l.waitTold(id, a, "answered")
				want = append(want, attributed("tester", 0, []string{body})...)
				heard := a.heard()
				require.Len(t, heard, len(want), "%d bytes, number %d", size, n)
				got, file := files.whole(heard[len(want)-1])
				if want[len(want)-1] != got { // in short: the whole is long
					assert.Failf(t, "not as it was sent", "%d bytes, number %d: %s", size, n, parting(want[len(want)-1], got))
				}
				assert.Equal(t, size+beside > prof.InlineMax, file != "", "%d bytes are typed, or not", size)
			}
		}
		all := a.Conversation()
		last := all[len(all)-1]
		assert.Equal(t, len(want), last.Earlier+len(last.User), "in one conversation, in order")
	})
}

// sized is a text of that many bytes, whose words tell their place.
func sized(head string, size int, between string) string {
	var b strings.Builder
	b.WriteString(head)
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "word%d,%s", n, between)
	}
	return strings.TrimRight(b.String()[:size-1], " \n") + "."
}

// parting tells where two texts begin to differ.
func parting(want, got string) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	return fmt.Sprintf("%d and %d bytes, which part at %d: %.80q and %.80q", len(want), len(got), at, want[at:], got[at:])
}
