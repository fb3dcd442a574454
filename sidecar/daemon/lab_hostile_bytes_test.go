package daemon_test

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A wire between the pane and the agent logs the bytes that the agent gets from its terminal. For each text they are
// the beginning of a paste, our head, the part of the text that may be typed, the end of the paste, and one Enter.
// Another Enter comes only if the receipt says that the agent has read the first one, and what became of it. Behind
// the wire the agent is known only by its screen and by what it writes down, because its process is not the pane's.
func TestLab_S10_H9_H10_H11_H12_H13_H14_H15_H16_H18_BytesOfTheAgent(t *testing.T) {
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		wire, written := wired(t)
		s := l.surround(l.agent(kind, wire), true)
		touched := filepath.Join(s.Work, "touched")
		bodies := append(
			keyBodies(touched),
			hostile{body: "\u200b!x\u202ey\U000e0069z", want: "!xyz"},
			at("see @f here", `see \@f here`), only(labtest.Codex, "use $imagegen .", "use $ imagegen ."),
			at("see @\n", "see \\@\n"), at("see @f", `see \@f `).without("see @f "),
		)
		var every []byte
		for b := range 256 {
			every = append(every, byte(b))
		}
		bodies = append(bodies, hostile{body: "all " + strings.ToValidUTF8(string(every), "\ufffd") + " of them"})
		for _, h := range bodies {
			before := len(written())
			s.WaitForIdle()
			id := l.tellAll(s.chat, h.body)
			l.waitTold(id, s.labAgent, "answered")
			s.n++
			got := string(written()[before:])
			text, ok := strings.CutPrefix(got, "\x1b[200~[tester] (0):\n\n")
			once := strings.TrimRight(text, "\r")
			text, whole := strings.CutSuffix(once, "\x1b[201~")
			if !assert.True(t, ok && whole && strings.HasSuffix(got, "\r"), "%q: %q", h.body, got) {
				continue
			}
			if again := strings.TrimPrefix(got, "\x1b[200~[tester] (0):\n\n"+once+"\r"); again != "" {
				assert.Regexp(t, "; Enter (became a line break|was read, and has done nothing)$", l.evidenceOf(id, message.Typed).Says, "%q", got)
				assert.Equal(t, "\r", again, "%q", got)
			}
			for _, r := range text {
				if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
					t.Errorf("%q: %q holds %q", h.body, text, r)
				}
			}
			if want := h.wanted(kind); want != "" {
				assert.Equal(t, want, text, "%q", h.body)
			}
		}
		s.unharmed()
		assert.NoFileExists(t, touched)
	})
}

// init makes the test program a wire if a file beside its name says which program is behind the wire: see wired.
func init() {
	if target, err := os.ReadFile(os.Args[0] + ".real"); err == nil {
		os.Exit(wireMain(string(target), os.Args[0]+".bytes"))
	}
}

// wired has an agent started behind a wire. written returns all bytes that went to the agent.
func wired(t *testing.T) (option labtest.Option, written func() []byte) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	wire := ""
	return labtest.Wrapped(func(program string) string {
			wire = filepath.Join(t.TempDir(), filepath.Base(program))
			require.NoError(t, os.Symlink(self, wire))
			require.NoError(t, os.WriteFile(wire+".real", []byte(program), 0o600))
			return wire
		}), func() []byte {
			data, err := os.ReadFile(wire + ".bytes")
			require.NoError(t, err)
			return data
		}
}

// wireMain runs a program on a terminal of its own, hands input and output on, and logs the input.
func wireMain(target, log string) int {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if err := stty.Run(); err != nil {
		return 1
	}
	size, err := pty.GetsizeFull(os.Stdin)
	if err != nil {
		return 1
	}
	cmd := exec.Command(target, os.Args[1:]...)
	tty, err := pty.StartWithSize(cmd, size)
	if err != nil {
		return 1
	}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	go func() {
		for range sizes {
			_ = pty.InheritSize(os.Stdin, tty)
		}
	}()
	go func() { _, _ = io.Copy(io.MultiWriter(file, tty), os.Stdin) }()
	_, _ = io.Copy(os.Stdout, tty) // ends with the program
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
