package persona

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestLine_echoesAndAnswers(t *testing.T) {
	for _, mode := range []string{"--cooked", "--cooked=false", "--bracketed"} {
		t.Run(mode, func(t *testing.T) {
			p := startInTmux(t, 80, 24, "line", mode, "--name", "A", "--banner", "1", "--reply", "{name} got {text}")
			p.paste("hello there")
			p.shows("A banner 1: "+words("A", -1, 1), "> hello there")
			p.keys("Enter")
			p.shows("A banner 1: "+words("A", -1, 1), "> hello there", "A got hello there", ">")
			p.keys("日本x", "BSpace", "Enter")
			p.contains("A got 日本")
			p.keys("oops", "C-u", "last", "Enter")
			p.contains("A got last")
			assert.Equal(t, []string{"hello there", "日本", "last"}, p.texts(EventReceived))
		})
	}
}

// Output that arrives while input is pending leaves the input whole and no remains of it, whatever its length, even around the
// width of the screen.
func TestLine_unaskedOutputKeepsThePendingInput(t *testing.T) {
	t.Parallel()
	p := startInTmux(t, 20, 50, "line", "--name", "A")
	alphabet := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 4)
	want := []string{}
	for n := 14; n <= 60; n++ {
		pending := alphabet[:n]
		if n%3 == 0 {
			pending = strings.ReplaceAll(pending, "q", "語")
		}
		if n%5 == 0 {
			pending = strings.ReplaceAll(pending, "p", "p\u0301")
		}
		p.keys("C-u")
		p.keys("-l", pending)
		p.contains(pending)
		p.obey(":say said " + strconv.Itoa(n))
		want = append(want, "said "+strconv.Itoa(n))
		p.shows(append(append([]string{}, want...), "> "+pending)...)
	}
	p.keys("BSpace", "BSpace", "Enter")
	assert.Equal(t, 58, len([]rune(strings.ReplaceAll(p.wait(EventReceived, 1).Text, "\u0301", ""))))
}

func TestLine_resizeKeepsThePendingInput(t *testing.T) {
	t.Parallel()
	// If the screen is not full, tmux moves the top of reflowed lines into the history, where no program can change them.
	p := startInTmux(t, 60, 24, "line", "--prompt", `\x1b[1;32mname>\x1b[0m `, "--banner", "30")
	banner := p.screen()[:30]
	pending := strings.Repeat("pending words ", 8) + "end"
	p.paste(pending)
	p.contains(pending)
	for _, width := range []int{33, 100, 24, 125, 50} {
		p.tmux("resize-window", "-x", strconv.Itoa(width))
		// tmux reflows at once and tells the program up to a quarter of a second later.
		eventually(t, "it knows its size", func() bool {
			return slices.ContainsFunc(mustReadLog(t, p.log), func(r Record) bool { return r.Event == EventResize && r.N == width })
		})
		p.obey(fmt.Sprint(":say width ", width))
		p.contains(fmt.Sprint("width ", width))
	}
	p.shows(append(banner, "width 33", "width 100", "width 24", "width 125", "width 50", "name> "+pending)...)
}

func TestLine_bracketedPasteIsOneEdit(t *testing.T) {
	p := startInTmux(t, 40, 24, "line", "--bracketed", "--reply", "none")
	p.paste("first\nsecond\tx\n\nlast")
	p.shows("> first", "… second    x", "…", "… last")
	p.obey(":say between")
	p.shows("between", "> first", "… second    x", "…", "… last")
	p.paste(" and more")
	p.keys("Enter")
	p.wait(EventReady, 2)
	assert.Equal(t, []string{"first\nsecond\tx\n\nlast and more"}, p.texts(EventReceived))
	assert.Equal(t, []string{"first\rsecond\tx\r\rlast", " and more"}, p.texts(EventPaste))

	p.obey(":bracketed off")
	p.paste("one\ntwo\n")
	p.wait(EventReady, 4)
	assert.Equal(t, []string{"one", "two"}, p.texts(EventReceived)[1:])
}

// Input that arrives faster than it is answered, while other output is printed, is all in the log, once and in order.
func TestLine_logIsComplete(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"--cooked", "--cooked=false"} {
		t.Run(mode, func(t *testing.T) {
			p := startInTmux(t, 80, 24, "line", mode, "--name", "A", "--think", "1ms", "--lines", "2",
				"--say", "tick {n}", "--say-every", "2ms", "--say-count", "50")
			var want, typed []string
			for n := 1; n <= 60; n++ {
				want = append(want, fmt.Sprintf("message %d", n))
				typed = append(typed, want[n-1]+"\n")
			}
			for i := 0; i < len(typed); i += 20 {
				p.paste(strings.Join(typed[i:i+20], ""))
			}
			p.wait(EventSaid, 60)
			p.wait(EventUnasked, 50)
			assert.Equal(t, want, p.texts(EventReceived))

			var read strings.Builder
			for i, r := range mustReadLog(t, p.log) {
				if i > 0 {
					require.GreaterOrEqual(t, r.Time, mustReadLog(t, p.log)[i-1].Time)
				}
				read.Write(r.Bytes)
			}
			assert.Equal(t, strings.Join(typed, ""), strings.ReplaceAll(read.String(), "\r", "\n"))

			shown := strings.Join(p.screen(), "\n") + "\n"
			for _, text := range append(p.texts(EventSaid), p.texts(EventUnasked)...) {
				for line := range strings.SplitSeq(text, "\n") {
					assert.Equal(t, 1, strings.Count(shown, line+"\n"), line)
				}
			}
		})
	}
}

func TestLine_spinnerLeavesNothing(t *testing.T) {
	p := startInTmux(t, 40, 24, "line", "--name", "A", "--spinner", "700ms")
	p.keys("go", "Enter")
	p.contains("working, 0s")
	p.shows("> go", "A-1: "+words("A", 1, 1), ">")
}

func TestLine_commandsOnlyWhereTheyAreOn(t *testing.T) {
	off := startInTmux(t, 80, 24, "line", "--reply", "none")
	off.keys(":exit", "Enter")
	assert.Equal(t, ":exit", off.wait(EventReceived, 1).Text)

	on := startInTmux(t, 80, 24, "line", "--reply", "none", "--commands")
	on.keys("[Bob] (1): :exit", "Enter")
	assert.Equal(t, "[Bob] (1): :exit", on.wait(EventReceived, 1).Text)
	on.keys(":exit 3", "Enter")
	assert.Equal(t, 3, on.wait(EventEnd, 1).N)
	assert.Len(t, on.texts(EventReceived), 1)
}

func TestLine_screenCommands(t *testing.T) {
	t.Parallel()
	p := startInTmux(t, 60, 10, "line", "--name", "A", "--commands")
	p.keys("-l", ":lines 30")
	p.keys("Enter")
	p.contains("A line 30 of 30")
	assert.Len(t, p.screen(), 32) // the typed line, 30 lines, the prompt
	assert.Equal(t, 29, strings.Count(p.wait(EventSaid, 1).Text, "\n"))

	p.keys("-l", "pending")
	p.contains("> pending")
	p.obey(":clear")
	eventually(t, "the screen is cleared", func() bool { return p.tmux("capture-pane", "-p") == "> pending"+strings.Repeat("\n", 9) })
	assert.NotEqual(t, "0", p.format("#{history_size}"))
	p.obey(":clear3")
	eventually(t, "the history is cleared", func() bool { return p.format("#{history_size}") == "0" })

	p.obey(":alt on")
	eventually(t, "alternate", func() bool { return p.format("#{alternate_on}") == "1" })
	p.keys("-l", "lost")
	eventually(t, "read", func() bool { return strings.HasSuffix(allRead(t, p), "lost") })
	p.obey(":say meanwhile")
	p.obey(":alt off")
	p.shows("meanwhile", "> pending")
	p.obey(":alt 50ms")
	eventually(t, "back", func() bool { return p.format("#{alternate_on}") == "0" })
	p.shows("meanwhile", "> pending")

	p.obey(":cursor hide")
	eventually(t, "hidden", func() bool { return p.format("#{cursor_flag}") == "0" })
	p.obey(":cursor show")
	p.obey(":cursor move")
	eventually(t, "moved", func() bool { return p.format("#{cursor_flag}#{cursor_x}") == "18" })
	p.keys("-l", "+")
	p.shows("meanwhile", "> pending+")
	p.obey(":draft =")
	p.shows("meanwhile", "> pending+=")
	p.obey(":prompt name? ")
	p.shows("meanwhile", "name? pending+=")
	p.obey(`:raw \x1b]2;a title\x07`)
	eventually(t, "titled", func() bool { return p.format("#{pane_title}") == "a title" })
}

func TestLine_busyCommandsKeepThePendingInput(t *testing.T) {
	t.Parallel()
	p := startInTmux(t, 60, 10, "line", "--name", "A")
	p.keys("-l", "pending")
	p.contains("> pending")
	p.obey(":hold")
	p.shows()
	p.keys("-l", " typed ahead")
	p.obey(":sleep 1ms")
	p.shows()
	p.obey(":go")
	p.shows("> pending typed ahead")
	require.Error(t, Control(p.control, ":go"))
	p.obey(":spin 2s")
	p.contains("working, ")
	p.shows("> pending typed ahead")
	p.obey(":flood 50ms")
	flood := p.wait(EventFlood, 1)
	p.contains(fmt.Sprintf("A flood %d:", flood.N))
	p.contains("> pending typed ahead")
}

func TestLine_execGivesTheTerminalAway(t *testing.T) {
	p := startInTmux(t, 60, 10, "line", "--bracketed")
	before := p.termios()
	p.keys("-l", "pending")
	p.contains("> pending")
	dir := filepath.Dir(p.log)

	p.obey(":exec cat")
	child := p.wait(EventChild, 1)
	assert.Equal(t, processGroup(t, child.N), processGroup(t, pid(t, p)), "the same group")
	assert.NotZero(t, p.termios().Lflag&unix.ECHO)
	p.obey(":say later")
	p.keys("for the child", "Enter")
	p.shows("for the child", "for the child")
	p.keys("C-d")
	p.shows("for the child", "for the child", "later", "> pending")
	assert.Equal(t, before, p.termios())
	assert.NotContains(t, allRead(t, p), "for the child")

	// A shell with job control, in a group of its own, that is killed without restoring the terminal.
	p.obey(":exec sh -i")
	p.wait(EventChild, 2)
	p.keys("echo $((6*7)) >"+dir+"/answer; kill -9 $$", "Enter")
	assert.Equal(t, -1, p.wait(EventChildEnd, 2).N)
	answer, err := os.ReadFile(filepath.Join(dir, "answer"))
	require.NoError(t, err)
	assert.Equal(t, "42\n", string(answer))
	p.wait(EventReady, 3)
	assert.Equal(t, before, p.termios())
	p.keys(" more", "Enter")
	assert.Equal(t, "pending more", p.wait(EventReceived, 1).Text)
}

func TestLine_passwordIsNotEchoed(t *testing.T) {
	p := startInTmux(t, 60, 10, "line", "--commands")
	before := p.termios()
	p.keys(":password", "Enter")
	p.shows("> :password", "Password:")
	flags := p.termios().Lflag
	assert.NotZero(t, flags&unix.ICANON)
	assert.Zero(t, flags&unix.ECHO)
	p.keys("secret", "Enter")
	assert.Equal(t, "secret", p.wait(EventPassword, 1).Text)
	p.shows("> :password", "Password:", ">")
	assert.Equal(t, before, p.termios())
}

func TestLine_misbehaves(t *testing.T) {
	t.Parallel()
	t.Run("stuck", func(t *testing.T) {
		p := startInTmux(t, 60, 10, "line", "--stuck")
		p.keys("text", "Enter")
		p.wait(EventEnter, 1)
		p.shows("> text")
		p.obey(":stuck off")
		p.keys("Enter")
		assert.Equal(t, "text", p.wait(EventReceived, 1).Text)
	})
	t.Run("swallow", func(t *testing.T) {
		p := startInTmux(t, 60, 10, "line", "--swallow-enter", "2")
		p.keys("text", "Enter", "Enter")
		p.wait(EventEnter, 2)
		p.shows("> text")
		p.keys("Enter")
		assert.Equal(t, "text", p.wait(EventReceived, 1).Text)
	})
	t.Run("deaf", func(t *testing.T) {
		p := startInTmux(t, 60, 10, "line", "--deaf")
		p.keys("text", "Enter")
		p.obey(":say it speaks") // a round of the loop, which would have read the input
		p.shows("it speaks", ">")
		assert.Empty(t, allRead(t, p))
		p.obey(":hear")
		assert.Equal(t, "text", p.wait(EventReceived, 1).Text)
	})
	t.Run("exit", func(t *testing.T) {
		p := startInTmux(t, 60, 10, "line", "--exit-on-paste")
		p.keys("x")
		p.wait(EventEnd, 1)
		assert.Equal(t, "x", allRead(t, p))
	})
	changes := []struct{ what, format, want string }{
		{"alt", "#{alternate_on}", "1"},
		{"hide", "#{cursor_flag}", "0"},
		{"cursor", "#{cursor_x}", "5"},
		{"cursor@20ms", "#{cursor_x}", "5"},
		{"prompt", "#{cursor_x}", "13"},
		{"line", "#{cursor_y}", "1"},
		{"draft", "#{cursor_x}", "26"},
		{"raw \\n", "#{cursor_y}", "1"},
	}
	for _, tt := range changes {
		t.Run(tt.what, func(t *testing.T) {
			p := startInTmux(t, 60, 10, "line", "--change-on-paste", tt.what)
			p.keys("text")
			p.wait(EventChange, 1)
			eventually(t, tt.format, func() bool { return p.format(tt.format) == tt.want })
		})
	}
}

// pid is the process id that tmux started in the pane.
func pid(t *testing.T, p *tmuxPane) int {
	t.Helper()
	n, err := strconv.Atoi(p.format("#{pane_pid}"))
	require.NoError(t, err)
	return n
}

func processGroup(t *testing.T, pid int) int {
	t.Helper()
	group, err := unix.Getpgid(pid)
	require.NoError(t, err)
	return group
}

// allRead is every byte that the persona has read.
func allRead(t *testing.T, p *tmuxPane) string {
	t.Helper()
	var b strings.Builder
	for _, r := range mustReadLog(t, p.log) {
		b.Write(r.Bytes)
	}
	return b.String()
}
