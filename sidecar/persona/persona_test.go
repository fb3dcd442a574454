package persona

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestMain makes the test binary a persona when the tests start it as one.
func TestMain(m *testing.M) {
	if os.Getenv("PERSONA_UNDER_TEST") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func TestMain_usage(t *testing.T) {
	tests := [][]string{
		nil, {"shell"}, {"line", "--no-such-flag"}, {"line", "argument"}, {"line", "--cooked", "--bracketed"}, {"tui", "--cooked"},
	}
	for _, args := range tests {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var complaints bytes.Buffer
			assert.Equal(t, 2, Run(t.Context(), args, Options{Stdin: os.Stdin, Stdout: io.Discard, Stderr: &complaints}))
			assert.NotEmpty(t, complaints.String())
		})
	}
}

func TestRun_contextEndsItAndRestoresTheTerminal(t *testing.T) {
	tests := [][]string{
		{"line"},
		{"line", "--bracketed", "--say", "tick {n}", "--say-every", "5ms"},
		{"line", "--cooked"},
		{"line", "--flood", "10m"},
		{"tui", "--alt", "--spinner", "10m"},
	}
	for _, args := range tests {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			terminal, program := openPTY(t)
			before, err := getTermios(int(program.Fd()))
			require.NoError(t, err)
			log := filepath.Join(t.TempDir(), "log")

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			code := make(chan int)
			go func() {
				code <- Run(ctx, append(args, "--log", log, "--control", filepath.Join(filepath.Dir(log), "c")),
					Options{Stdin: program, Stdout: program})
			}()
			eventually(t, "it has begun", func() bool {
				return strings.Contains(terminal.String(), "persona") || strings.Contains(terminal.String(), "> ")
			})
			cancel()
			assert.Equal(t, 0, <-code)

			after, err := getTermios(int(program.Fd()))
			require.NoError(t, err)
			assert.Equal(t, before, after)
			records := mustReadLog(t, log)
			assert.Equal(t, EventEnd, records[len(records)-1].Event)
			assert.NoFileExists(t, filepath.Join(filepath.Dir(log), "c"))
			for on, off := range map[string]string{pasteOn: pasteOff, altOn: altOff, cursorOff: cursorOn} {
				eventually(t, fmt.Sprintf("%q is taken back", on), func() bool {
					shown := terminal.String()
					return strings.LastIndex(shown, on) <= strings.LastIndex(shown, off)
				})
			}
		})
	}
}

func TestRun_signalsRestoreTheTerminal(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP} {
		for _, args := range [][]string{{"line", "--bracketed"}, {"tui"}, {"line", "--control", "c"}} {
			t.Run(fmt.Sprint(sig, args), func(t *testing.T) {
				dir := t.TempDir()
				cmd := exec.Command(os.Args[0], append(args, "--log", "log")...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "PERSONA_UNDER_TEST=1")
				terminal, program := openPTY(t)
				before, err := getTermios(int(program.Fd()))
				require.NoError(t, err)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
				cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
				require.NoError(t, cmd.Start())
				waitFor(t, filepath.Join(dir, "log"), EventReady, 1)
				if len(args) == 3 { // with a child on the terminal
					require.NoError(t, Control(filepath.Join(dir, "c"), ":exec sleep 1000"))
				}
				require.NoError(t, cmd.Process.Signal(sig))
				cmd.Wait()
				assert.Equal(t, 128+int(sig), cmd.ProcessState.ExitCode())
				after, err := getTermios(int(program.Fd()))
				require.NoError(t, err)
				assert.Equal(t, before, after)
				if len(args) < 3 {
					eventually(t, "bracketed paste is off", func() bool { return strings.Contains(terminal.String(), pasteOff) })
				}
			})
		}
	}
}

func TestControl_fifo(t *testing.T) {
	dir := t.TempDir()
	fifo, log := filepath.Join(dir, "fifo"), filepath.Join(dir, "log")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	terminal, program := openPTY(t)
	code := make(chan int)
	go func() {
		code <- Run(t.Context(), []string{"line", "--control", fifo, "--log", log}, Options{Stdin: program, Stdout: program})
	}()
	waitFor(t, log, EventReady, 1)
	for _, command := range []string{":say from outside\n:say ag", "ain\n", ":exit 7\n"} {
		require.NoError(t, os.WriteFile(fifo, []byte(command), 0))
	}
	assert.Equal(t, 7, <-code)
	eventually(t, "both are shown", func() bool {
		return strings.Contains(terminal.String(), "from outside\r\n") && strings.Contains(terminal.String(), "again\r\n")
	})
}

func TestControl_errors(t *testing.T) {
	p := startInTmux(t, 80, 24, "line")
	assert.ErrorContains(t, Control(p.control, ":nonsense"), "nonsense")
	assert.ErrorContains(t, Control(p.control, ":alt sideways"), "sideways")
	assert.ErrorContains(t, Control(p.control, ":exec no-such-program"), "no-such-program")
	assert.Error(t, Control(filepath.Join(t.TempDir(), "none"), ":clear"))
	p.keys("still here", "Enter")
	assert.Equal(t, "still here", p.wait(EventReceived, 1).Text)
}

// The decoder finds the same keys however the bytes are cut into reads.
func TestDecoder_anyCuts(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"text", "日本", "e\u0301", "\r", "\n", "\x7f", "\x15", "\x1b[A", "\x1bOB", "\x1b[200~pasted\rtwice\x1b[201~", "\x1b[200~", "\x1b[201~",
		"\x1b[5~", "\x1bx", "\xff", "\t",
	})
	rapid.Check(t, func(t *rapid.T) {
		data := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		var whole, cut decoder
		want := merge(whole.feed([]byte(data)))
		var got []key
		for rest := data; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got = append(got, cut.feed([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		assert.Equal(t, want, merge(got))
	})
}

func TestReply_numberedLinesAreUnlike(t *testing.T) {
	seen := map[string]bool{}
	r := reply{name: "A", mode: "numbered", lines: 3}
	for n := 1; n <= 2000; n++ {
		text, ok := r.to(n, "")
		require.True(t, ok)
		lines := strings.Split(text, "\n")
		require.Len(t, lines, 3)
		for _, line := range lines {
			require.False(t, seen[line], line)
			seen[line] = true
		}
	}
}

func TestReply_modes(t *testing.T) {
	tests := []struct {
		name string
		r    reply
		want []string
	}{
		{"echo", reply{mode: "echo"}, []string{"hello", "hello"}},
		{"none", reply{mode: "none"}, []string{"", ""}},
		{"template", reply{name: "A", mode: "{name}/{n}/{text}"}, []string{"A/1/hello", "A/2/hello"}},
		{"limit", reply{mode: "echo", limit: 1}, []string{"hello", ""}},
		{"quote", reply{name: "A", mode: "x", quote: true}, []string{"x\nA-1 heard: hello", "x\nA-2 heard: hello"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, want := range tt.want {
				got, ok := tt.r.to(i+1, "hello")
				assert.Equal(t, want, got)
				assert.Equal(t, want != "", ok)
			}
		})
	}
}

// terminalOutput keeps what a program writes to its terminal.
type terminalOutput struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *terminalOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// openPTY opens a terminal and collects what is written to its program side.
func openPTY(t *testing.T) (*terminalOutput, *os.File) {
	t.Helper()
	master, program, err := pty.Open()
	require.NoError(t, err)
	out := &terminalOutput{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			n, err := master.Read(buf)
			out.mu.Lock()
			if out.buf.Len() < 1<<22 {
				out.buf.Write(buf[:n])
			}
			out.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		program.Close()
		master.Close()
		<-done
	})
	return out, program
}

// tmuxPane is a persona in a pane of a tmux server of its own.
type tmuxPane struct {
	t            *testing.T
	socket       string
	log, control string
}

func startInTmux(t *testing.T, width, height int, args ...string) *tmuxPane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux: make ensure installs it")
	}
	// Not t.TempDir, since paths of sockets may not be long.
	dir, err := os.MkdirTemp("", "persona")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &tmuxPane{t: t, socket: filepath.Join(dir, "tmux"), log: filepath.Join(dir, "log"), control: filepath.Join(dir, "control")}
	argv := append([]string{
		"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", dir,
		"-e", "PERSONA_UNDER_TEST=1", "-e", "HOME=" + dir, "--", os.Args[0],
	}, args...)
	p.tmux(append(argv, "--log", p.log, "--control", p.control)...)
	t.Cleanup(func() { exec.Command("tmux", "-N", "-S", p.socket, "kill-server").Run() })
	if !slices.Contains(args, "--flood") {
		p.wait(EventReady, 1)
	}
	return p
}

func (p *tmuxPane) tmux(args ...string) string { return p.pipe("", args...) }

// pipe runs a tmux command with that standard input.
func (p *tmuxPane) pipe(input string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", p.socket}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TMUX") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "HOME="+filepath.Dir(p.socket), "TMUX_TMPDIR="+filepath.Dir(p.socket))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoErrorf(p.t, err, "tmux %q: %s", args, out)
	return strings.TrimSuffix(string(out), "\n")
}

func (p *tmuxPane) keys(keys ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// paste pastes text, with paste marks if the program asked for them.
func (p *tmuxPane) paste(text string) {
	p.t.Helper()
	p.pipe(text, "load-buffer", "-b", "test", "-", ";", "paste-buffer", "-p", "-d", "-b", "test")
}

func (p *tmuxPane) obey(command string) {
	p.t.Helper()
	require.NoError(p.t, Control(p.control, command))
}

func (p *tmuxPane) format(format string) string {
	p.t.Helper()
	return p.tmux("display-message", "-p", format)
}

// screen is the pane's content with its history, wrapped lines joined, blank lines left out.
func (p *tmuxPane) screen() []string {
	p.t.Helper()
	var lines []string
	for line := range strings.SplitSeq(p.tmux("capture-pane", "-p", "-J", "-S", "-"), "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// shows waits until the screen has exactly those lines.
func (p *tmuxPane) shows(want ...string) {
	p.t.Helper()
	var got []string
	if !becomes(func() bool { got = p.screen(); return slices.Equal(want, got) }) {
		require.Equal(p.t, want, got)
	}
}

// contains waits until a line of the screen contains text.
func (p *tmuxPane) contains(text string) {
	p.t.Helper()
	var got []string
	if !becomes(func() bool {
		got = p.screen()
		return slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, text) })
	}) {
		require.Failf(p.t, "not on the screen", "%q in\n%s", text, strings.Join(got, "\n"))
	}
}

// wait waits for the nth record of an event.
func (p *tmuxPane) wait(event string, n int) Record {
	p.t.Helper()
	return waitFor(p.t, p.log, event, n)
}

// texts are the texts of all records of an event so far.
func (p *tmuxPane) texts(event string) []string {
	p.t.Helper()
	var texts []string
	for _, r := range mustReadLog(p.t, p.log) {
		if r.Event == event {
			texts = append(texts, r.Text)
		}
	}
	return texts
}

// termios reads the settings of the pane's terminal.
func (p *tmuxPane) termios() *unix.Termios {
	p.t.Helper()
	tty, err := os.OpenFile(p.format("#{pane_tty}"), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(p.t, err)
	defer tty.Close()
	s, err := getTermios(int(tty.Fd()))
	require.NoError(p.t, err)
	return s
}

func waitFor(t *testing.T, log, event string, n int) Record {
	t.Helper()
	var found Record
	eventually(t, fmt.Sprintf("%s no. %d", event, n), func() bool {
		records, err := ReadLog(log)
		if err != nil {
			return false
		}
		seen := 0
		for _, r := range records {
			if r.Event == event {
				if seen++; seen == n {
					found = r
					return true
				}
			}
		}
		return false
	})
	return found
}

func mustReadLog(t *testing.T, path string) []Record {
	t.Helper()
	records, err := ReadLog(path)
	require.NoError(t, err)
	return records
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Truef(t, becomes(cond), "in vain: %s", what)
}

// becomes reports whether cond comes true within a minute.
func becomes(cond func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return true
		}
	}
	return false
}

// merge joins neighbouring runs of text.
func merge(keys []key) []key {
	var out []key
	for _, k := range keys {
		if n := len(out); n > 0 && k.kind == keyText && out[n-1].kind == keyText {
			out[n-1].text += k.text
			continue
		}
		out = append(out, k)
	}
	return out
}
