package daemon_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Agents send arbitrary text, and it arrives unchanged. The bytes that the programs read prove it: one paste and one
// Enter, or one line if the program reads lines.
func TestT7_T12_T42_ArbitraryBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	typed, pasted, cooked := r.adopted("Typed", silent...), r.adopted("Pasted", bracketed...), r.adopted("Cooked", "--cooked", "--reply", "none")

	const family = "👨‍👩‍👧‍👦"
	bodies := []string{
		"a | b ] c : d [ e", `"quotes" 'and' \"these\" \n`, "$(id) `id` ${HOME} $$ !! && ; | > x", "first\nsecond, third", "\tfirst\n\n  third, indented",
		"Grüße, 日本語, Ελληνικά 😀 👩‍👩‍👧 🇩🇪 ❤️ क्षत्रिय e\u0301", family + "\nand\n👩🏽‍❤️‍💋‍👨🏽 " + strings.Repeat("words ", 5) + "end",
		strings.Repeat("64 KB in lines of thirty-two..!\n", 2<<10)[:64<<10-1], strings.Repeat("64 KB in one line. ", 4<<10)[:64<<10-1] + ".",
	}
	lines := strings.Repeat("x\n", 4095) + "x"
	r.part("more rows than the pane keeps", func(t testing.TB) {
		r.settled(r.post(pasted, lines), "failed: "+string(message.TooManyRows))
	})

	r.part("pasted", func(t testing.TB) {
		r.Run("set-option", "-g", "history-limit", "5000") // for new panes
		tall := r.adopted("Tall", bracketed...)
		master := r.adopted("Author", bracketed...)
		var want []string
		var keys strings.Builder
		for _, body := range append(bodies, lines) {
			master.sendsText(tall, body)
			want = append(want, master.header()+body)
			keys.WriteString("\x1b[200~" + master.header() + body + "\x1b[201~\r")
			r.waitFor("it arrives", func() bool { return len(tall.received()) == len(want) })
		}
		assert.Equal(t, want, tall.received())
		assert.Equal(t, keys.String(), strings.ReplaceAll(string(tall.bytes()), "\r\n", "\n"), "a paste and one Enter each")
	})

	r.part("typed, and echoed by the terminal", func(t testing.TB) {
		for _, to := range []*agent{typed, cooked} {
			master := r.adopted("Author-of-"+to.name, bracketed...)
			var want []string
			for _, body := range bodies {
				switch {
				case to == cooked && len(body) > 4<<10:
					continue // a terminal hands on no line of that length
				case to == typed && strings.HasPrefix(body, family), strings.Count(body, "\n") > 1000, strings.Contains(body, "\n\n"):
					continue // as one line, it would end a row after a picture, be too long, or lose a blank
				}
				master.sendsText(to, body)
				want = append(want, master.header()+strings.ReplaceAll(body, "\n", " ⏎ "))
				r.waitFor("it arrives", func() bool { return len(to.received()) == len(want) })
			}
			assert.Equal(t, want, to.received(), "one line each, to %s", to.name)
		}
	})

	r.part("no keys", func(t testing.TB) {
		master := r.adopted("Foe", bracketed...)
		for _, to := range []*agent{typed, pasted, cooked} {
			read, taken := len(to.bytes()), len(to.received())
			master.sendsText(to, "a\x1b[201~b\x1bc\x03d\x00e\r\x1b[201~\rf")
			r.waitFor("it arrives", func() bool { return len(to.received()) > taken })
			body := strings.NewReplacer("\x1b[200~", "", "\x1b[201~\r", "").Replace(string(to.bytes()[read:]))
			assert.NotRegexp(t, `[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]`, body)
			assert.Len(t, to.received(), taken+1, "one message, and no Enter of its own")
			require.NoError(t, syscall.Kill(to.session.Foreground.PID, 0))
		}
	})
}
