package daemon_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/naivetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// crowd is many panes on one server. A persona in each would be too much for a small machine. Instead, a shell prints
// a prompt and becomes cat, and one goroutine writes the programs' output to all their terminals. To tmux and to the
// sidecar that is the same.
type crowd struct {
	*rig
	bin   string   // the program intercom
	panes []string // %7
	ttys  []*os.File

	adopted bool
}

const crowdPrompt = "crowd> "

// newCrowd spreads n panes over that many sessions. Each pane shows that many lines of earlier output.
func newCrowd(b *testing.B, v tmuxtest.Version, n, sessions, lines int) *crowd {
	b.Helper()
	c := &crowd{rig: bare(b, v), bin: intercom(b)}
	c.open(b, n, sessions, lines)
	return c
}

// open starts the panes.
func (c *crowd) open(b *testing.B, n, sessions, lines int) {
	b.Helper()
	c.panes, c.ttys = nil, nil
	c.Run("set-option", "-g", "history-limit", "2000")
	script := `i=0; while [ $i -lt ` + fmt.Sprint(lines) + ` ]; do i=$((i+1)); ` +
		`echo "line $i of what this program wrote before anybody adopted it"; done; printf '%s' '` + crowdPrompt + `'; exec cat`
	for s := range sessions {
		var words []string
		for i := s; i < n; i += sessions {
			command := []string{"new-window", "-d", "-t", fmt.Sprintf("crowd%d:", s)}
			if i == s {
				command = []string{"new-session", "-d", "-s", fmt.Sprintf("crowd%d", s), "-x", "80", "-y", "24"}
			} else {
				words = append(words, ";")
			}
			words = append(append(words, command...), "-P", "-F", "#{pane_id} #{pane_tty}", "sh", "-c", script)
		}
		for line := range strings.Lines(c.Run(words...) + "\n") {
			pane, tty, _ := strings.Cut(strings.TrimSpace(line), " ")
			f, err := os.OpenFile(tty, os.O_WRONLY|syscall.O_NOCTTY, 0)
			require.NoError(b, err)
			b.Cleanup(func() { f.Close() })
			c.panes, c.ttys = append(c.panes, pane), append(c.ttys, f)
		}
	}
	require.Len(b, c.panes, n)
	c.waitFor("the prompts", func() bool {
		return strings.Count(c.Run("list-panes", "-a", "-F", "#{pane_current_command}:#{cursor_x}:"), fmt.Sprintf("cat:%d:", len(crowdPrompt))) == n
	})
}

// serve starts the sidecar as a process of its own.
func (c *crowd) serve(b *testing.B) *process {
	b.Helper()
	p := launch(b, c.sidecar(b), false)
	c.await(b)
	return p
}

// sidecar is the command of the sidecar.
func (c *crowd) sidecar(b *testing.B) *exec.Cmd {
	b.Helper()
	paths, err := api.Places(c.getenv, c.Socket)
	require.NoError(b, err)
	c.client = clientAt(paths.Socket)
	cmd := exec.Command(c.bin, "sidecar", "--server", c.Socket)
	// The sidecar takes tmux from PATH, and must take the server's own.
	cmd.Env = []string{"PATH=" + filepath.Dir(c.Version.Bin) + ":" + os.Getenv("PATH")}
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+c.getenv(name))
	}
	return cmd
}

// await waits until the sidecar answers.
func (c *crowd) await(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(tmuxtest.Patience); ; time.Sleep(200 * time.Microsecond) {
		_, err := c.client.Status(b.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the sidecar does not answer: %v", err)
		}
	}
}

// adopt adopts panes, a few at a time.
func (c *crowd) adopt(b *testing.B, panes []string) {
	b.Helper()
	work := make(chan string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for pane := range work {
				if _, err := c.client.Adopt(b.Context(), api.AdoptRequest{Pane: pane, As: "line"}); err != nil {
					b.Errorf("adopt %s: %v", pane, err)
				}
			}
		})
	}
	for _, pane := range panes {
		work <- pane
	}
	close(work)
	workers.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// spin turns a spinner in every pane, ten times a second, in groups so that not all turn at once. The function that
// it returns stops the spinners and brings the prompts back.
func (c *crowd) spin() (stop func()) {
	const frames, groups = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", 10
	quit := make(chan struct{})
	var spinning sync.WaitGroup
	spinning.Go(func() {
		turn := time.NewTicker(time.Second / 10 / groups)
		defer turn.Stop()
		began := time.Now()
		for i := 0; ; i++ {
			select {
			case <-quit:
				for _, tty := range c.ttys {
					fmt.Fprintf(tty, "\r\x1b[K%s", crowdPrompt)
				}
				return
			case <-turn.C:
			}
			frame := []rune(frames)[i/groups%10]
			for j := i % groups; j < len(c.ttys); j += groups {
				fmt.Fprintf(c.ttys[j], "\r%c working, %ds\x1b[K", frame, int(time.Since(began).Seconds()))
			}
		}
	})
	return func() { close(quit); spinning.Wait() }
}

// window is how long each cost is measured.
const window = 10 * time.Second

// cost is what was spent in a window, in percent of one processor.
type cost struct{ watcher, server, others float64 }

func (c cost) both() float64 { return c.watcher + c.server }

// measure is the cost in a window. pid is the watcher's, 0 for none.
func (c *crowd) measure(b *testing.B, pid int) cost {
	b.Helper()
	read := func() (watcher, server, all time.Duration) {
		if pid != 0 {
			watcher = cpuOf(b, pid)
		}
		return watcher, cpuOf(b, c.PID), busy(b)
	}
	time.Sleep(time.Second) // let earlier work end
	began := time.Now()
	w0, s0, a0 := read()
	time.Sleep(window)
	w1, s1, a1 := read()
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(time.Since(began)) }
	k := cost{watcher: share(w1 - w0), server: share(s1 - s0)}
	k.others = share(a1-a0) - k.both()
	return k
}

// BenchmarkQ3_PaneLoad measures the processor time of the watcher of 100 panes, and of the tmux server, while nothing
// happens in the panes and while a spinner turns in each (Q3). The reference only captures and compares here; in use
// it would type the spinners into other panes, too.
func BenchmarkQ3_PaneLoad(b *testing.B) {
	needProc(b)
	for _, v := range ends(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			for b.Loop() {
				paneLoad(b, v)
			}
		})
	}
}

func paneLoad(b *testing.B, v tmuxtest.Version) {
	const panes, history = 100, 1000
	c := newCrowd(b, v, panes, 10, history)
	who := []string{"nobody", "ours", "native", "naive"}
	var idle, spinning [4]cost
	for i, name := range who {
		var p *process
		switch name {
		case "ours", "native":
			c.speaks(map[string]string{"ours": "auto"}[name])
			p = c.serve(b)
			c.adoptOnce(b)
		case "naive":
			var all []naivetest.Pane
			for _, id := range c.panes {
				all = append(all, naivetest.Pane{ID: id, Name: "crowd"})
			}
			p = launch(b, c.naive("watch", all...), true)
		}
		pid := 0
		if p != nil {
			pid = p.Process.Pid
		}
		idle[i] = c.measure(b, pid)
		stop := c.spin()
		spinning[i] = c.measure(b, pid)
		stop()
		if p != nil {
			p.stop()
		}
	}
	rows := [][]string{{"% of one CPU", "idle: watcher", "+ tmux", "others", "10 Hz: watcher", "+ tmux", "others"}}
	percent := func(f float64) string { return fmt.Sprintf("%.1f", f) }
	for i, name := range who {
		rows = append(rows, []string{
			name, percent(idle[i].watcher), percent(idle[i].server), percent(idle[i].others),
			percent(spinning[i].watcher), percent(spinning[i].server), percent(spinning[i].others),
		})
	}
	naive := len(who) - 1
	atRest, turning := idle[naive].both()/max(idle[1].both(), 0.01), spinning[naive].both()/max(spinning[1].both(), 0.01)
	native, turned := idle[naive].both()/max(idle[2].both(), 0.01), spinning[naive].both()/max(spinning[2].both(), 0.01)
	table(b, fmt.Sprintf("%s, %d panes with %d lines of history; naive / ours: idle %.1f, spinning %.2f; naive / native: idle %.1f, spinning %.2f",
		v.Name, panes, history, atRest, turning, native, turned), rows...)
	b.ReportMetric(idle[1].both(), "idle-%")
	b.ReportMetric(spinning[1].both(), "spin-%")
	b.ReportMetric(atRest, "idle-naive/ours")
	b.ReportMetric(turning, "spin-naive/ours")
	b.ReportMetric(native, "idle-naive/native")
	b.ReportMetric(turned, "spin-naive/native")
}

// speaks sets the transport of the sidecars that start from now on; "" is native.
func (c *crowd) speaks(transport string) {
	c.Run("set-option", "-g", "@intercom-transport", cmp.Or(transport, "native"))
}

// adoptOnce adopts all panes, or waits until a new sidecar has those of the one before it.
func (c *crowd) adoptOnce(b *testing.B) {
	b.Helper()
	adopted := func() int {
		all, err := c.client.Sessions(b.Context())
		require.NoError(b, err)
		return len(slices.DeleteFunc(all, func(s message.Peer) bool { return s.Ended != nil }))
	}
	if c.adopted {
		c.waitFor("the panes of the sidecar before", func() bool { return adopted() == len(c.panes) })
		return
	}
	c.adopt(b, c.panes)
	c.adopted = true
}

// BenchmarkQ3_ManyAtRest measures the processor time of the sidecar and of the tmux server for 100 and for 500 panes
// in which nothing happens, with the default transport and with tmux's own protocol.
func BenchmarkQ3_ManyAtRest(b *testing.B) {
	needProc(b)
	for _, v := range ends(b) {
		for _, panes := range []int{100, 500} {
			b.Run(fmt.Sprintf("tmux=%s/panes=%d", v.Name, panes), func(b *testing.B) {
				for b.Loop() {
					c := newCrowd(b, v, panes, 10, 100)
					rows := [][]string{{"% of one CPU", "sidecar", "+ tmux", "others"}}
					for _, transport := range []string{"auto", "native"} {
						c.speaks(transport)
						p := c.serve(b)
						c.adoptOnce(b)
						k := c.measure(b, p.Process.Pid)
						p.stop()
						rows = append(rows, []string{transport, fmt.Sprintf("%.1f", k.watcher), fmt.Sprintf("%.1f", k.server), fmt.Sprintf("%.1f", k.others)})
						b.ReportMetric(k.both(), transport+"-%")
					}
					table(b, fmt.Sprintf("%s, %d panes at rest", v.Name, panes), rows...)
				}
			})
		}
	}
}

// BenchmarkQ4_PaneMemory measures the memory of the sidecar with 10, 100 and 500 adopted
// panes in 50 sessions (Q4), and with 100 whose history is full.
func BenchmarkQ4_PaneMemory(b *testing.B) {
	needProc(b)
	v := ends(b)[0]
	rows := [][]string{{"MB resident", "panes", "now", "at most", "more a pane, kB"}}
	for b.Loop() {
		few := newCrowd(b, v, 500, 50, 0)
		p := few.serve(b)
		none := 0.0
		for done, n := 0, 0; ; done = n {
			now, most := settled(b, p)
			if n == 0 {
				none = now
			}
			rows = append(rows, memoryRow("a prompt each", n, now, most, none))
			b.ReportMetric(now, fmt.Sprintf("MB-at-%d", n))
			if n == len(few.panes) {
				break
			}
			n = map[int]int{0: 10, 10: 100, 100: 500}[n]
			few.adopt(b, few.panes[done:n])
		}
		p.stop()

		full := newCrowd(b, v, 100, 50, 2000)
		p = full.serve(b)
		full.adopt(b, full.panes)
		now, most := settled(b, p)
		rows = append(rows, memoryRow("2,000 lines each", 100, now, most, none))
		b.ReportMetric(now, "MB-at-100-full")
	}
	table(b, "memory of the sidecar, "+v.Name, rows...)
}

func memoryRow(what string, panes int, now, most, none float64) []string {
	row := []string{what, fmt.Sprint(panes), fmt.Sprintf("%.1f", now), fmt.Sprintf("%.1f", most), ""}
	if panes > 0 {
		row[4] = fmt.Sprintf("%.0f", 1024*(now-none)/float64(panes))
	}
	return row
}

// settled is the memory of a process after some seconds of rest.
func settled(b *testing.B, p *process) (now, most float64) {
	time.Sleep(3 * time.Second)
	return memoryOf(b, p.Process.Pid)
}

// BenchmarkQ10_Start measures the time from the start of the sidecar's process until it
// answers (Q10), and of the reference's until it watches; both for two panes at hand.
func BenchmarkQ10_Start(b *testing.B) {
	for _, v := range ends(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			c := newCrowd(b, v, 2, 1, 0)
			var ours, naive, tmux times
			for b.Loop() {
				began := time.Now()
				p := launch(b, c.sidecar(b), false)
				c.await(b)
				ours = append(ours, time.Since(began))
				p.stop()

				began = time.Now()
				p = launch(b, c.naive("watch", naivetest.Pane{ID: c.panes[0], Name: "a"}, naivetest.Pane{ID: c.panes[1], Name: "b"}), true)
				naive = append(naive, time.Since(began))
				p.stop()

				began = time.Now()
				c.Run("display-message", "-p", "#{pid}")
				tmux = append(tmux, time.Since(began))
			}
			ratio := float64(ours.at(0.5)) / float64(max(naive.at(0.5), 1))
			table(b, fmt.Sprintf("start, %s; ours / naive %.2f", v.Name, ratio),
				[]string{"ms", "p50", "most", "starts"},
				[]string{"ours, until it answers", ms(ours.at(0.5)), ms(ours.at(1)), fmt.Sprint(len(ours))},
				[]string{"naive, until it watches", ms(naive.at(0.5)), ms(naive.at(1)), fmt.Sprint(len(naive))},
				[]string{"one tmux process", ms(tmux.at(0.5)), ms(tmux.at(1)), fmt.Sprint(len(tmux))},
			)
			report(b, ours.at(0.5), "start-p50")
			b.ReportMetric(ratio, "ours/naive")
		})
	}
}

// BenchmarkQ10_ReattachAfterTmuxRestart kills the tmux server during a chat in which something was just said. It
// measures the first command on the new server, until its answer: the command starts a sidecar, which ends the chats
// of the old server, and answers.
func BenchmarkQ10_ReattachAfterTmuxRestart(b *testing.B) {
	for _, v := range ends(b) {
		b.Run("tmux="+v.Name, func(b *testing.B) {
			var command, serves times
			for b.Loop() {
				c := newCrowd(b, v, 2, 1, 0)
				const rounds = 20
				for round := range rounds + 1 {
					if round > 0 {
						c.restart(b)
					}
					began := time.Now()
					var ended []message.Chat
					c.command(b, &ended, "chat", "list", "--ended", "--json")
					all := time.Since(began)
					require.Len(b, ended, round)
					status, err := c.client.Status(b.Context())
					require.NoError(b, err)
					if round > 0 {
						require.Equal(b, string(message.ServerEnded), ended[0].Why)
						command, serves = append(command, all), append(serves, status.Started.Sub(began))
					}
					c.adopt(b, c.panes)
					chat, err := c.client.StartChat(b.Context(), api.StartChatRequest{Panes: c.panes})
					require.NoError(b, err)
					_, err = c.client.Say(b.Context(), api.SayRequest{Chat: string(chat.ID), Text: fmt.Sprintf("round %d", round)})
					require.NoError(b, err)
				}
			}
			table(b, "a new server, "+v.Name,
				[]string{"ms", "p50", "most", "restarts"},
				[]string{"until the sidecar runs", ms(serves.at(0.5)), ms(serves.at(1)), fmt.Sprint(len(serves))},
				[]string{"until the command is answered", ms(command.at(0.5)), ms(command.at(1)), fmt.Sprint(len(command))},
			)
			report(b, command.at(0.5), "reattach-p50")
			report(b, command.at(1), "reattach-most")
		})
	}
}

// restart kills the server, and with it its programs and its sidecar, and starts another in its place.
func (c *crowd) restart(b *testing.B) {
	b.Helper()
	n := len(c.panes)
	require.NoError(b, syscall.Kill(c.PID, syscall.SIGKILL))
	c.waitFor("the end of the sidecar", func() bool { return c.client.Ping(b.Context()) != nil })
	c.Restart()
	c.open(b, n, 1, 0)
}

// command runs the program as a person in one of the panes would, and reads its answer.
func (c *crowd) command(b *testing.B, answer any, args ...string) {
	b.Helper()
	cmd := c.sidecar(b)
	cmd.Args = append([]string{c.bin, "--server", c.Socket}, args...)
	out, err := cmd.Output()
	require.NoError(b, err, "%s", out)
	require.NoError(b, json.Unmarshal(out, answer), "%s", out)
}
