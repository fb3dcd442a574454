package agent

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

var update = flag.Bool("update", false, "replace the recordings of Gemini CLI and opencode by what the lab writes now")

// scene is one thing to do with an agent of the lab.
type scene struct {
	name string
	play func(s *stage)
}

type stage struct {
	*labtest.Agent
	lab    *labtest.Lab
	server *tmuxtest.Server
}

// The transcripts of Gemini CLI and opencode in testdata.
func TestLab_record(t *testing.T) {
	if !*update {
		t.Skip("recordings are made anew by: INTERCOM_LAB=1 go test -run TestLab_record -update ./sidecar/agent")
	}
	for _, kind := range []labtest.Kind{labtest.Gemini, labtest.Opencode} {
		for _, one := range scenes {
			if one.name == "sub-agent" && kind == labtest.Gemini {
				continue // its sub-agents do not start without a person's settings
			}
			t.Run(string(kind)+"/"+one.name, func(t *testing.T) {
				lab := labtest.New(t, kind)
				server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
				s := &stage{Agent: lab.Start(server, kind), lab: lab, server: server}
				one.play(s)
				s.WaitForIdle()
				s.WaitForStill(time.Second)
				record(t, s, filepath.Join("testdata", string(kind)+"-"+kind.Version(), one.name))
			})
		}
	}
}

var scenes = []scene{
	{"plain", func(s *stage) {
		s.Prompt("plain question é 日本\nsecond `line`")
		s.WaitForAnswer("bytes have arrived")
	}},
	{"lines-400", func(s *stage) {
		s.Prompt("[[lines 400]]")
		s.WaitForAnswer("Line 400 of 400")
	}},
	{"long-paste", func(s *stage) {
		s.Prompt("AI[vm:peer] | long paste\n\nline two\nline three\nline four\n\tTab and é\nlast  ")
		s.WaitForAnswer("bytes have arrived")
	}},
	{"text-tool-text", func(s *stage) {
		s.Prompt("please [[before I will do it.]] [[bash touch made]] [[say It is done.]]")
		s.WaitForDialog()
		s.Enter()
		s.WaitForAnswer("It is done.")
	}},
	{"permission-denied", func(s *stage) {
		s.Prompt("before [[say all that was said before]]")
		s.WaitForAnswer("said before")
		s.Prompt("please [[before I will do it.]] [[bash touch made]] [[say It is done.]]")
		s.WaitForDialog()
		s.WaitForStill(labtest.Stillness)
		s.Keys("Escape")
		s.WaitForIdle()
		s.Prompt("go on then [[say I went on]]")
		s.WaitForAnswer("I went on")
	}},
	{"esc-in-answer", func(s *stage) {
		s.Prompt("[[hold]] [[say five six seven eight]]")
		s.WaitForText("five six")
		s.escape()
		s.Prompt("and then [[say the next answer]]")
		s.WaitForAnswer("the next answer")
	}},
	{"esc-early", func(s *stage) {
		s.Prompt("[[stall]] [[say nothing yet]]")
		s.escape()
		s.WaitForStill(labtest.Stillness)
		s.Keys("C-u")
		s.Prompt("and then [[say the next answer]]")
		s.WaitForAnswer("the next answer")
	}},
	{"error-400", func(s *stage) {
		s.Prompt("[[error 400]] fails")
		s.WaitForIdle()
		s.Prompt("and then [[say the next answer]]")
		s.WaitForAnswer("the next answer")
	}},
	{"queue", func(s *stage) {
		s.Prompt("[[slow 5]] [[say a slow answer]] one")
		for _, text := range []string{"queued A [[say answer to A]]", "queued B [[say answer to B]]"} {
			s.Paste(text)
			s.Enter()
		}
		s.WaitForAnswer("answer to B")
	}},
	{"queue-tool", func(s *stage) {
		s.Prompt("[[bash sleep 4; echo slept]] [[say It has slept.]] tool")
		s.WaitForDialog()
		s.Enter()
		s.WaitFor("work", s.works)
		s.Paste("queued during tool [[say answer to the queued]]")
		s.Enter()
		s.WaitForAnswer("answer to the queued")
	}},
	{"commands", func(s *stage) {
		s.command("/help")
		s.Keys("Escape")
		s.WaitForStill(time.Second) // together with what follows it would be read as one key
		s.WaitForIdle()
		s.command("!echo from-shell")
		s.WaitForText("from-shell")
		s.WaitForStill(time.Second)
		s.Keys("Escape")
		s.WaitForIdle()
		s.Prompt("after the commands [[say here I am]]")
		s.WaitForAnswer("here I am")
	}},
	{"compact", func(s *stage) {
		for i := range 3 { // Gemini CLI only does it when it is worthwhile
			s.Prompt(fmt.Sprintf("before compaction %d [[lines %d]]", i, 300+i))
			s.WaitForAnswer(fmt.Sprintf("Line %[1]d of %[1]d", 300+i))
			s.WaitForStill(labtest.Stillness)
		}
		if s.Kind == labtest.Gemini {
			s.command("/compress")
		} else {
			s.command("/compact")
		}
		s.WaitForStill(3 * time.Second)
		s.WaitForIdle()
		s.Prompt("after compaction [[say it goes on]]")
		s.WaitForAnswer("it goes on")
	}},
	{"new", func(s *stage) {
		s.Prompt("first in file one [[say one]]")
		s.WaitForAnswer("one")
		s.WaitForStill(time.Second)
		if s.Kind == labtest.Gemini {
			s.command("/clear")
		} else {
			s.command("/new")
		}
		s.WaitForStill(2 * time.Second)
		s.Prompt("first in file two [[say two]]")
		s.WaitForAnswer("two")
	}},
	{"sub-agent", func(s *stage) {
		s.Prompt(`[[tool task {"description":"a task","prompt":"hello from the main agent","subagent_type":"general"}]] [[say The task is done.]]`)
		s.WaitForAnswer("The task is done.")
	}},
}

// submit is Prompt for an agent that may miss the first Enter, as Gemini CLI does on a busy machine.
func (s *stage) submit(text string) {
	before := len(s.Received())
	s.Paste(text)
	s.WaitForStill(700 * time.Millisecond)
	s.Keys("Enter")
	again := time.Now().Add(5 * time.Second)
	s.WaitFor("its model to hear the prompt", func(labtest.Screen) bool {
		if len(s.Received()) > before {
			return true
		}
		if time.Now().After(again) {
			s.Keys("Enter")
			again = time.Now().Add(5 * time.Second)
		}
		return false
	})
}

// escape interrupts the working agent and waits until it has stopped.
func (s *stage) escape() {
	s.WaitFor("work", s.works)
	s.Keys("Escape")
	if s.Kind == labtest.Opencode { // it requires a second one
		s.WaitForText("again to interrupt")
		s.Keys("Escape")
		s.WaitFor("the interruption", func(v labtest.Screen) bool { return !v.Contains("to interrupt") && !v.Contains("esc interrupt") })
	}
	s.WaitForIdle()
}

// works reports whether the agent shows that it works and asks nothing.
func (s *stage) works(v labtest.Screen) bool {
	if s.Kind == labtest.Gemini {
		return strings.HasPrefix(v.Title, "✦")
	}
	return v.CursorVisible && v.Contains("esc interrupt")
}

// command types a command as a person does.
func (s *stage) command(line string) {
	mode, line := line[:1], line[1:] // `!` changes the composer
	s.server.Run("send-keys", "-t", s.Pane, "-l", mode)
	s.WaitForStill(labtest.Stillness)
	s.server.Run("send-keys", "-t", s.Pane, "-l", line)
	s.WaitForText(line)
	s.WaitForStill(500 * time.Millisecond)
	s.Keys("Enter")
	s.WaitForStill(labtest.Stillness)
}

// adopted recognises the agent of a stage.
func (s *stage) adopted(t *testing.T) Agent {
	t.Helper()
	procs := []message.Process{{PID: s.PID}}
	leader, err := process.Identify(s.PID)
	require.NoError(t, err)
	for _, pid := range s.Processes() {
		if id, err := process.Identify(pid); err == nil && pid != s.PID && id.Group == leader.Group {
			procs = append(procs, message.Process{PID: pid})
		}
	}
	a, err := Recognise(procs...)
	require.NoError(t, err)
	return a
}

// record writes the conversations of a stage into a directory of fixtures.
func record(t *testing.T, s *stage, dir string) {
	t.Helper()
	files := map[string][]byte{}
	var names []string
	if s.Kind == labtest.Gemini {
		paths, err := filepath.Glob(filepath.Join(s.adopted(t).chatsDir(), "session-*.jsonl"))
		require.NoError(t, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			head, ok := chatHead(path)
			require.True(t, ok)
			began := head.began.Format(time.RFC3339Nano)
			files[began], names = data, append(names, began)
		}
	} else {
		path, _ := s.adopted(t).databasePath()
		base := &database{path: path}
		defer base.close()
		var sides []string
		type session struct {
			id, name string
			side     bool
		}
		var sessions []session
		require.NoError(t, base.query(func(rows *sql.Rows) error {
			var one session
			err := rows.Scan(&one.id, &one.name, &one.side)
			sessions = append(sessions, one)
			return err
		}, "SELECT id, time_created, parent_id IS NOT NULL FROM session"))
		for _, one := range sessions {
			for at := int64(0); ; {
				all, _, err := base.events(one.id, at)
				require.NoError(t, err)
				if len(all) == 0 {
					break
				}
				for _, event := range all {
					files[one.name] = append(append(files[one.name], event.line()...), '\n')
					at = event.seq + 1
				}
			}
			if one.side {
				sides = append(sides, one.name)
			} else {
				names = append(names, one.name)
			}
		}
		for _, one := range sides {
			write(t, dir, "side", files[one])
		}
	}
	slices.Sort(names)
	for i, name := range names {
		to := "transcript"
		if len(names) == 2 {
			to = []string{"before", "after"}[i]
		}
		write(t, dir, to, files[name])
	}
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		stripped, err := strip(line)
		require.NoError(t, err, "%s", line)
		out.Write(append(stripped, '\n'))
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), out.Bytes(), 0o644))
}

// A Follower reports exactly the words of the real agents' models.
func TestLab_followed(t *testing.T) {
	t.Parallel()
	for _, kind := range []labtest.Kind{labtest.Gemini, labtest.Opencode} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			lab := labtest.New(t, kind)
			server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
			s := &stage{Agent: lab.Start(server, kind), lab: lab, server: server}
			w := s.watch(t)
			for _, n := range []int{1, 40, 400} {
				prompt := fmt.Sprintf("[alice] (%d):\n\nplease [[lines %d]] \t`x` é 日本", n, n)
				turn := w.ask(t, prompt)
				assert.True(t, turn.Whole())
				assert.Equal(t, s.Answers()[len(s.Answers())-1], turn.Words)
				assert.Equal(t, counted(n), turn.Words)
				require.Len(t, turn.Prompts, 1)
				assert.True(t, turn.Prompts[0].Ours)
				assert.False(t, turn.Prompts[0].Mixed)
			}
			require.NotNil(t, w.bound)
			assert.Equal(t, ByBeingAlone, w.bound.How)
			assert.Equal(t, kind.Version(), w.bound.Version)

			w.machine.Expect("do [[before I will.]] [[bash touch proof]] [[say It is done.]]")
			s.submit("do [[before I will.]] [[bash touch proof]] [[say It is done.]]")
			s.WaitForDialog()
			w.wait(t, 2*time.Second)
			turn, open := w.machine.Turn()
			require.True(t, open, "a dialog is a part of a turn")
			assert.Empty(t, w.ended)
			if kind == labtest.Opencode {
				require.Len(t, turn.OpenTools, 1)
				assert.Equal(t, "bash", turn.OpenTools[0].Name)
			}
			s.Enter()
			turn = w.next(t)
			assert.Equal(t, "It is done.", turn.Words)
			assert.Equal(t, []string{"I will.", "It is done."}, turn.Texts)

			s.WaitForIdle()
			s.submit("[[hold]] [[say one two three four]]")
			s.escape()
			turn = w.next(t)
			assert.True(t, turn.Interrupted)
			assert.True(t, turn.ByHand())
			turn = w.ask(t, "fail [[error 400]]")
			assert.True(t, turn.Failed)
			assert.Contains(t, turn.Why, "the mock was asked for this error")

			if kind == labtest.Gemini {
				s.command("/clear")
			} else {
				s.command("/new")
			}
			s.WaitForStill(time.Second)
			before := w.bound.Path
			turn = w.ask(t, "in the next one [[say here as well]]")
			assert.Equal(t, "here as well", turn.Words)
			assert.NotEqual(t, before, w.bound.Path)
			assert.Empty(t, w.ended)
		})
	}
}

// Two agents of a kind in one directory with one home: each is credited with its own words.
func TestLab_twoInOneDirectory(t *testing.T) {
	t.Parallel()
	for _, kind := range []labtest.Kind{labtest.Gemini, labtest.Opencode} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			lab := labtest.New(t, kind)
			server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
			work, home := filepath.Join(lab.Dir, "work"), filepath.Join(lab.Dir, "home")
			require.NoError(t, os.MkdirAll(work, 0o700))
			var all []*watched
			for range 2 {
				s := &stage{Agent: lab.Start(server, kind, labtest.Work(work), labtest.Home(home)), lab: lab, server: server}
				all = append(all, s.watch(t))
			}
			for n := range 2 {
				for i, w := range all {
					prompt := fmt.Sprintf("to %d for time %d [[say from %d for time %d]]", i, n, i, n)
					turn := w.ask(t, prompt)
					assert.Equal(t, fmt.Sprintf("from %d for time %d", i, n), turn.Words)
					require.Len(t, turn.Prompts, 1)
					assert.True(t, turn.Prompts[0].Ours)
					assert.Empty(t, all[1-i].ended)
				}
			}
			assert.NotEqual(t, all[0].bound.Path, all[1].bound.Path)
			t.Logf("bound by %q and %q", all[0].bound.How, all[1].bound.How)
		})
	}
}

// watched is an agent of the lab with its Follower. Its screen is the other witness.
type watched struct {
	*stage
	follower *Follower
	machine  Machine
	bound    *Transcript
	ended    []Turn
	rests    time.Time
	served   chan error
}

func (s *stage) watch(t *testing.T) *watched {
	t.Helper()
	bell := newBell(t)
	w := &watched{stage: s, follower: NewFollower(s.adopted(t), bell, time.Now), served: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { w.served <- w.follower.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-w.served })
	return w
}

// ask types a prompt as the sidecar does, and returns the turn that answers it.
func (w *watched) ask(t *testing.T, prompt string) Turn {
	t.Helper()
	w.WaitForIdle()
	w.wait(t, 0)
	w.machine.Expect(prompt)
	typed := time.Now()
	w.submit(prompt)
	w.follower.Seek(prompt, typed)
	return w.next(t)
}

// next waits for the next turn to end.
func (w *watched) next(t *testing.T) Turn {
	t.Helper()
	for deadline := time.Now().Add(labtest.Patience); len(w.ended) == 0; {
		require.True(t, time.Now().Before(deadline), "no turn has ended")
		w.wait(t, 50*time.Millisecond)
	}
	turn := w.ended[0]
	w.ended = w.ended[1:]
	return turn
}

// wait takes updates for some time.
func (w *watched) wait(t *testing.T, some time.Duration) {
	t.Helper()
	for end := time.After(some); ; {
		now := time.Now()
		switch idle := w.Idle(); {
		case !idle:
			w.rests = time.Time{}
		case w.rests.IsZero():
			w.rests = now
		}
		if w.Kind == labtest.Gemini {
			w.ended = append(w.ended, w.machine.Rests(w.rests, now).Ended...)
		}
		select {
		case u := <-w.follower.Updates():
			switch {
			case u.Event != nil:
				w.ended = append(w.ended, w.machine.Feed(*u.Event).Ended...)
			case u.Bound != nil:
				w.bound = u.Bound
			}
		case <-end:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
