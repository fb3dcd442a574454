package delta

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The terminal of these tests is like tmux: for the same bytes a real tmux gives the same
// joined captures and, until it is resized, the same number of rows of history.
func TestTerminal_agreesWithTmux(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux: make ensure installs it")
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			term := newTerminal(15+rng.IntN(30), 8+rng.IntN(10), []int{20, 60, 500}[seed])
			r := newRealPane(t, bin, term)
			resized := false
			r.put("> ")
			for step := range 30 {
				op := rng.IntN(9)
				switch op {
				default:
					for range 1 + rng.IntN(40) {
						r.put(fmt.Sprintf("line %d%s\n", rng.IntN(100), strings.Repeat(" x", rng.IntN(12))))
					}
					r.put("> ")
				case 3:
					r.put("some pending text that wraps")
					r.sync()
					r.eraseLine()
					r.put("unasked\n> some pending text that wraps\nok\n> ")
				case 4:
					r.put("\r| work\r/ work")
					r.sync()
					term.wipe()
					r.raw("\r\x1b[K")
					r.put("> ")
				case 5:
					term.clear()
					r.raw("\x1b[H\x1b[2J")
					r.put("> ")
				case 6:
					r.sync()
					term.clear()
					term.clearHistory()
					r.raw("\x1b[H\x1b[2J\x1b[3J")
					r.put("> ")
				case 7:
					r.put("> quote\n\n\n> ")
				case 8:
					if term.limit < 500 {
						continue // rows that come and go at the limit are another matter
					}
					r.sync()
					term.resize(15+rng.IntN(30), 8+rng.IntN(10))
					r.tmux("resize-window", "-x", fmt.Sprint(term.width), "-y", fmt.Sprint(term.height))
					resized = true
				}
				r.sync()
				at := fmt.Sprintf("step %d, operation %d, %d×%d", step, op, term.width, term.height)
				if !resized {
					require.Equal(t, fmt.Sprint(len(term.history)), r.tmux("display-message", "-p", "#{history_size}"), at)
				}
				for _, depth := range []int{0, 7, 3_000} {
					if resized && depth < 3_000 {
						continue // the rows may stand differently
					}
					want := term.capture(depth).Lines
					got := r.tmux("capture-pane", "-p", "-J", "-S", fmt.Sprint(-depth))
					require.Equal(t, captured(want), captured(strings.Split(got, "\n")), at)
				}
			}
		})
	}
}

// A real tmux gives each line as many rows as rowsOf says, whatever the line is made of.
func TestRowsOf_agreesWithTmux(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux: make ensure installs it")
	}
	const width = 20
	r := newRealPane(t, bin, newTerminal(width, 8, 500))
	at := func() (row int) {
		r.sync()
		var history, y int
		_, err := fmt.Sscan(r.tmux("display-message", "-p", "#{history_size} #{cursor_y}"), &history, &y)
		require.NoError(t, err)
		return history + y
	}
	rng := rand.New(rand.NewPCG(1, 7))
	pieces := []string{"a", " ", "…", "é", "e\u0301", "漢", "한", "Ω", "👩", "👩\u200d🔬", "❤\ufe0f", "🇳🇿", "├", "क्षि", "ا"}
	for n := range 60 {
		var b strings.Builder
		for range rng.IntN(3 * width) {
			b.WriteString(pieces[rng.IntN(1+n%len(pieces))])
		}
		line := b.String()
		from := at()
		r.raw(line + "\n")
		took, said := at()-from, rowsOf(trim(line), width)
		require.GreaterOrEqual(t, took, said.least, "%q", line)
		blank := (len(line) - len(trim(line))) / width // rows of blanks that a capture does not show
		require.LessOrEqual(t, took, said.most+blank, "%q", line)
	}
}

// What a program answers is told although a draft of several rows stood where it answers: tmux goes on to take those rows
// for wrapped ones once the draft is erased, and joins what is drawn in them.
func TestTracker_afterAnErasedDraft(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux: make ensure installs it")
	}
	const width = 30
	r := newRealServer(t, bin)
	r.tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", "40", `while printf '> ' && read -r line; do echo "you said $line"; done`)
	var shown Capture
	until := func(last string) {
		for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			rows := strings.Split(r.tmux("capture-pane", "-p"), "\n")
			joined := strings.Split(r.tmux("capture-pane", "-p", "-J"), "\n")
			if shown = (Capture{Lines: joined, Complete: true, Rows: len(rows), Width: width}); rows[len(rows)-1] == last {
				return
			}
			require.True(t, time.Now().Before(late), "the last row is not %q: %q", last, rows)
		}
	}
	until(">")
	for _, draft := range []int{width, 2 * width, 3 * width} {
		tracker := New(plainPrompt("> "))
		require.Zero(t, tracker.Feed(shown))
		r.tmux("send-keys", "-l", strings.Repeat("x", draft))
		until("xx")
		require.Zero(t, tracker.Feed(shown))
		r.tmux("send-keys", "C-u")
		until(">")
		require.Zero(t, tracker.Feed(shown))
		tracker.Expect("hello")
		r.tmux("send-keys", "-l", "hello")
		until("> hello")
		require.Zero(t, tracker.Feed(shown))
		r.tmux("send-keys", "Enter")
		until(">")
		require.Zero(t, tracker.Feed(shown))
		turn, ok := tracker.Turn(true)
		require.True(t, ok)
		require.Equal(t, Turn{Words: "you said hello", Echoes: 1}, turn, "%q", shown.Lines)
	}
}

// realPane is a pane of a private server in which the same is printed as in our terminal.
type realPane struct {
	*terminal
	t       *testing.T
	bin     string
	dir     string
	out     *os.File
	serials int
}

func newRealServer(t *testing.T, bin string) *realPane {
	dir, err := os.MkdirTemp("", "delta") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Cleanup(func() { exec.Command(bin, "-S", filepath.Join(dir, "s"), "kill-server").Run() })
	return &realPane{t: t, bin: bin, dir: dir}
}

func newRealPane(t *testing.T, bin string, term *terminal) *realPane {
	r := newRealServer(t, bin)
	r.terminal = term
	fifo := filepath.Join(r.dir, "fifo")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", fifo).Run())
	r.tmux("start-server", ";", "set-option", "-g", "history-limit", fmt.Sprint(term.limit), ";", "set-option", "-g", "status", "off", ";",
		"new-session", "-d", "-x", fmt.Sprint(term.width), "-y", fmt.Sprint(term.height), "stty -echo; exec cat <>"+fifo)
	var err error
	r.out, err = os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { r.out.Close() })
	return r
}

func (r *realPane) tmux(args ...string) string {
	cmd := exec.CommandContext(r.t.Context(), r.bin, append([]string{"-u", "-S", filepath.Join(r.dir, "s"), "-f", "/dev/null"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "TMUX_TMPDIR=" + r.dir, "HOME=" + r.dir}
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return strings.TrimRight(string(out), "\n")
}

func (r *realPane) raw(s string) {
	_, err := r.out.WriteString(s)
	require.NoError(r.t, err)
}

func (r *realPane) put(s string) {
	r.print(s)
	r.raw(s)
}

func (r *realPane) eraseLine() {
	up := 0
	for y := r.y; y > 0 && r.screen[y-1].wrapped; y-- {
		up++
	}
	r.terminal.eraseLine()
	r.raw("\r")
	if up > 0 {
		r.raw(fmt.Sprintf("\x1b[%dA", up))
	}
	r.raw("\x1b[J")
}

// sync waits until the pane has taken in all that was written, which its title tells.
func (r *realPane) sync() {
	r.serials++
	want := fmt.Sprintf("serial-%d", r.serials)
	r.raw("\x1b]2;" + want + "\a")
	for late := time.Now().Add(time.Minute); r.tmux("display-message", "-p", "#{pane_title}") != want; time.Sleep(10 * time.Millisecond) {
		require.True(r.t, time.Now().Before(late), "the title is not %s", want)
	}
}
