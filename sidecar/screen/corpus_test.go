package screen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// recording is one screen of a real agent. Its label is the word that a person would choose who sees the screen and
// knows what was done before: idle (a composer waits and is empty), draft, working, blocked (a dialog, a picker, a
// panel, a question, letters that are commands), history (the end is not shown), shell. TestLab_record… makes the
// recordings: INTERCOM_LAB=1 go test -run TestLab_record -update. Those of Claude Code 2.1.197 were made by hand,
// and their cursor is where that version parks it.
type recording struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
	Label   string `json:"label"` // idle, draft, working, blocked, history, shell
	What    string `json:"what"`

	Width         int      `json:"width"`
	Height        int      `json:"height"`
	CursorX       int      `json:"cursor_x"`
	CursorY       int      `json:"cursor_y"`
	CursorVisible bool     `json:"cursor_visible"`
	Alternate     bool     `json:"alternate"`
	InMode        bool     `json:"in_mode"`
	History       int      `json:"history"`
	Command       string   `json:"command"`
	Title         string   `json:"title"`
	Rows          []string `json:"rows"` // with escapes
}

// newRecording records what an agent of the lab shows.
func newRecording(kind labtest.Kind, label, what string, s labtest.Screen) recording {
	return recording{
		Agent: string(kind), Version: kind.Version(), Label: label, What: what,
		Width: s.Width, Height: s.Height, CursorX: s.CursorX, CursorY: s.CursorY, CursorVisible: s.CursorVisible,
		Alternate: s.Alternate, InMode: s.InMode, History: s.History, Command: s.Command, Title: s.Title, Rows: s.Rows,
	}
}

func (r recording) String() string {
	return fmt.Sprintf("%s-%s/%s-%s", r.Agent, r.Version, r.Label, r.What)
}

func (r recording) file() string { return filepath.Join("testdata", r.String()+".json") }

// write replaces the recording of that name.
func (r recording) write(t testing.TB) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(r))
	require.NoError(t, os.MkdirAll(filepath.Dir(r.file()), 0o755))
	require.NoError(t, os.WriteFile(r.file(), b.Bytes(), 0o644))
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// corpus returns all recordings.
func corpus(t testing.TB) []recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := make([]recording, len(files))
	for i, file := range files {
		require.NoError(t, json.Unmarshal([]byte(read(t, file)), &all[i]), file)
		require.Equal(t, file, all[i].file())
		require.Len(t, all[i].Rows, all[i].Height, file)
	}
	return all
}

// view returns the recording as Judge takes it. The settings tell whether there are vim keys.
func (r recording) view() screen.View {
	return screen.View{
		Screen: screen.Screen{
			Rows: r.Rows, CursorX: r.CursorX, CursorY: r.CursorY, Width: r.Width, Height: r.Height,
			HistorySize: r.History, CursorVisible: r.CursorVisible, Alternate: r.Alternate, InMode: r.InMode,
		},
		Title: r.Title,
		Vim:   strings.HasPrefix(r.What, "vim-"),
	}
}

func (r recording) judge(t testing.TB) screen.Verdict {
	t.Helper()
	return screen.Judge(r.view(), agentNamed(t, r.Agent))
}

// agentNamed returns the agent of that name.
func agentNamed(t testing.TB, name string) profile.Agent {
	t.Helper()
	a, ok := agents()[name]
	require.True(t, ok, name)
	return a
}

// agents are built once: the corpus asks for them many thousand times.
var agents = sync.OnceValue(func() map[string]profile.Agent {
	all := map[string]profile.Agent{}
	for _, a := range profile.Agents() {
		all[a.Name] = a
	}
	return all
})

func says(v screen.Verdict) string {
	var all []string
	for _, e := range v.Evidence {
		all = append(all, e.Says)
	}
	return strings.Join(all, "; ")
}

// unrecognised is the share of idle screens that may be judged as something else.
const unrecognised = 0.05

// All recordings: a person's label for each, and our judgement.
func TestS1_verdictsOverTheCorpus(t *testing.T) {
	t.Parallel()
	idle, missed, unsafe, other := 0, 0, 0, 0
	all := corpus(t)
	var table strings.Builder
	for _, r := range all {
		v := r.judge(t)
		note := ""
		assert.Equal(t, v.State == message.Idle, v.MayType, r)
		assert.NotEmpty(t, v.Evidence, r)
		assert.Equal(t, v.MayType, v.Why == "", r)
		switch {
		case r.Label == "idle" && !v.MayType:
			missed++
			note = "  <- NOT RECOGNISED"
		case r.Label != "idle" && v.MayType:
			unsafe++
			note = "  <- FALSE-SAFE"
			t.Errorf("%s may be typed into: %s", r, says(v))
		case string(v.State) != r.Label:
			other++
			note = "  (other word)"
		}
		if r.Label == "idle" {
			idle++
		}
		fmt.Fprintf(&table, "%-8s -> %-8s %-5t %-75s %s%s\n", r.Label, v.State, v.MayType, r, says(v), note)
	}
	t.Logf("\n%s%d screens: %d false-safe; of %d idle %d not recognised; %d under another word", table.String(), len(all), unsafe, idle, missed, other)
	assert.Zero(t, unsafe)
	assert.LessOrEqual(t, float64(missed), unrecognised*float64(idle))
}

// self returns the rows with the whole state of the pen at the beginning of each, so that rows of different screens
// can be combined.
func self(rows []string) []string {
	out := make([]string, len(rows))
	var pen []string
	for i, row := range rows {
		out[i] = "\x1b[0m" + strings.Join(pen, "") + row
		for _, sequence := range sgr.FindAllString(row, -1) {
			if parameters := sequence[2 : len(sequence)-1]; parameters == "" || parameters == "0" || strings.HasPrefix(parameters, "0;") {
				pen = nil
			}
			pen = append(pen, sequence)
		}
	}
	return out
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// spliced combines two screens: the lower rows of one below the upper rows of the other. Each row must contain its
// whole state of the pen.
func spliced(upper, lower recording, lowerRows int) recording {
	s := lower
	s.What = fmt.Sprintf("%s: its last %d rows under %s", lower.What, lowerRows, upper)
	below := lower.Rows[lower.Height-lowerRows:]
	above := upper.Rows
	if n := lower.Height - lowerRows; n <= len(above) {
		above = above[:n]
	} else {
		above = append(make([]string, n-len(above)), above...)
	}
	s.Rows = append(slices.Clone(above), below...)
	return s
}

// Screens made from two recordings of an agent: the lower part of each that is not idle below each idle one. Title
// and cursor are those of the lower one; a parked cursor stays where it is.
func TestS1_splicesAreNeverSafe(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	for i := range all {
		all[i].Rows = self(all[i].Rows)
	}
	made := 0
	for i, lower := range all {
		if lower.Label == "idle" || lower.Label == "history" || lower.Label == "draft" && strings.HasPrefix(lower.What, "own-") && lower.What != "own-line" {
			continue // one of many drafts is enough
		}
		least := lower.least()
		for j, upper := range all {
			if leftOut(i, j) || upper.Label != "idle" || upper.Agent != lower.Agent || upper.Width != lower.Width || inOtherColours(upper) {
				continue
			}
			for rows := least; rows < lower.Height; rows += step(lower.Height) {
				r := spliced(upper, lower, rows)
				made++
				if v := r.judge(t); v.MayType {
					t.Errorf("%s may be typed into: %s", r, says(v))
				}
			}
		}
	}
	t.Logf("%d splices", made)
	assert.NotZero(t, made)
}

// leftOut reports whether a pair of recordings is skipped when time is short. Each recording is still combined with
// every ninth of the others.
func leftOut(i, j int) bool { return os.Getenv("INTERCOM_LONG") == "" && (i+j)%9 != 0 }

// inOtherColours reports whether a screen exists a second time in other colours. As the upper part of a splice, one
// of them is enough when time is short.
func inOtherColours(r recording) bool {
	return os.Getenv("INTERCOM_LONG") == "" && (strings.HasSuffix(r.What, "-8-colours") || strings.HasSuffix(r.What, "-light") || strings.HasSuffix(r.What, "-truecolour"))
}

// least is how many of the last rows of a recording show that it is not idle.
func (r recording) least() int {
	if r.Agent == "gemini" {
		return r.geminiLeast()
	}
	for what, row := range map[string]string{ // a live composer, and one row above it that shows the state
		"question-beside-composer": "? Which colour?",
		"sub-agent":                "✻ Waiting for 1 background agent to finish",
		"no-title-streaming":       "› [[hold]] [[say one two three four]]",
		"scrolled-up":              " bottom ",
		"leader-key":               "┃  Build · Mock Lab",
	} {
		if r.What != what {
			continue
		}
		if at := slices.IndexFunc(r.Rows, func(s string) bool { return strings.Contains(screen.Plain(s)+" ", row) }); at >= 0 {
			return r.Height - at
		}
	}
	if r.Agent == "opencode" && strings.HasPrefix(r.What, "line-breaks") { // only the number of rows shows it
		return r.Height - r.opencodeTop()
	}
	if r.Label != "blocked" { // below the composer they are all much alike
		return r.Height - r.CursorY
	}
	return 1
}

// step is the distance between the positions at which screens are cut.
func step(height int) int {
	if os.Getenv("INTERCOM_LONG") != "" {
		return 1
	}
	return max(1, height/4)
}

// apart is step for tests with more work at each position.
func apart(height int) int { return min(2*step(height), step(height)*step(height)) }

// A half-drawn screen: its first rows are still blank, or have scrolled away, or are the only ones.
func TestS1_cropsAreNeverSafe(t *testing.T) {
	t.Parallel()
	made := 0
	for i, r := range corpus(t) {
		if r.Label == "idle" {
			continue
		}
		rows := self(r.Rows)
		apart := apart(r.Height)
		for n := 1 + i%apart; n < min(r.Height, r.Height-r.least()+1); n += apart {
			blank := make([]string, n)
			for name, c := range map[string]struct {
				rows []string
				y    int
			}{
				"its first rows blank":     {append(slices.Clone(blank), rows[n:]...), r.CursorY},
				"its last rows blank":      {append(slices.Clone(rows[:r.Height-n]), blank...), r.CursorY},
				"scrolled up":              {append(slices.Clone(rows[n:]), blank...), max(0, r.CursorY-n)},
				"scrolled down":            {append(slices.Clone(blank), rows[:r.Height-n]...), min(r.Height-1, r.CursorY+n)},
				"cut at the top":           {rows[n:], max(0, r.CursorY-n)},
				"cut at the bottom":        {rows[:r.Height-n], min(r.Height-n-1, r.CursorY)},
				"scrolled, cursor at home": {append(slices.Clone(rows[n:]), blank...), 0},
			} {
				crop := r
				crop.Rows, crop.CursorY, crop.Height = c.rows, c.y, len(c.rows)
				made++
				if v := crop.judge(t); v.MayType {
					t.Errorf("%s, %d rows, %s, may be typed into: %s", r, n, name, says(v))
				}
			}
		}
	}
	t.Logf("%d crops", made)
	assert.NotZero(t, made)
}

// A cursor in any place, shown or hidden: only one place is safe, on an idle screen.
func TestS1_aCursorElsewhereIsNeverSafe(t *testing.T) {
	t.Parallel()
	for _, r := range corpus(t) {
		apart := apart(r.Height)
		for y := r.CursorY % apart; y < r.Height; y += apart {
			for _, x := range []int{0, 1, 2, 3, r.Width} {
				for _, visible := range []bool{false, true} {
					moved := r
					moved.CursorX, moved.CursorY, moved.CursorVisible = x, y, visible
					here := x == r.CursorX && y == r.CursorY && (visible == r.CursorVisible || r.Agent == "claude") || r.Agent == "gemini" // Gemini CLI paints its own
					if v := moved.judge(t); v.MayType && (r.Label != "idle" || !here) && !elsewhereIsIdle[r.What] {
						t.Errorf("%s with the cursor at %d,%d, visible %t, may be typed into: %s", r, x, y, visible, says(v))
					}
				}
			}
		}
	}
}

// elsewhereIsIdle lists recordings in which only the cursor shows that they are not idle.
var elsewhereIsIdle = map[string]bool{"blanks": true}
