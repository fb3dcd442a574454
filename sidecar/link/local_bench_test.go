package link_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// N7: how long a local message takes from its sender to a pane, through relay and journal: without a link, with
// one, while the link is down or its server answers nothing, and while another computer floods this one. The
// server and the other computers run in a process of the lowest priority: they stand for other machines.
func BenchmarkN7_Local(b *testing.B) {
	p99 := map[string]time.Duration{}
	for _, state := range []string{"no link", "linked", "down", "hanging", "flooded with questions", "flooded with what is refused", "flooded with mail", "flooded beyond its limits"} {
		b.Run(state, func(b *testing.B) {
			others := newOthers(b)
			url := others.tells()
			if state == "no link" {
				url = ""
			}
			c := newComputer(b, "c", url, nil)
			from, to, target := c.session("from"), c.session("to"), c.session("target")
			send := func(body string) error { _, err := c.send(from.ID, to.ID, body); return err }
			if state == "flooded beyond its limits" { // the limits that everybody has
				require.NoError(b, c.relay.Limit(b.Context(), relay.LimitsChanged{Limits: message.Limits{Rate: 1 << 20, Bytes: 1 << 40}}))
				send = func(body string) error { return c.says(to.ID, body) }
			}
			if url != "" {
				far := c.knows("other", message.Peer{ID: message.ID(others.tells()), Name: "there"})
				others.does(b, state+"/"+string(target.ID)+"/c")
				if state == "down" || state == "hanging" {
					for i := range 500 {
						_, err := c.send(from.ID, far.ID, fmt.Sprint("far ", i))
						require.NoError(b, err)
					}
				}
			}
			var took []time.Duration
			began := time.Now()
			b.Loop() // once is enough
			for i := 0; time.Since(began) < measured || i < 300; i++ {
				body := fmt.Sprint("near ", i)
				sent := time.Now()
				require.NoError(b, send(body))
				for !c.has(body) {
					time.Sleep(20 * time.Microsecond)
				}
				took = append(took, time.Since(sent))
			}
			for b.Loop() { //nolint:revive // it has been measured
			}
			report(b, took, "local")
			p99[state] = took[len(took)*99/100]
			b.ReportMetric(float64(len(c.bodies())-len(took))/time.Since(began).Seconds(), "mails/s")
			b.ReportMetric(float64(c.failed.Load())/time.Since(began).Seconds(), "failed/s")
			b.ReportMetric(0, "ns/op")
		})
	}
	for _, state := range []string{"down", "hanging"} { // the other states also cost others' processor time: BenchmarkN7_Flood
		if without, with := p99["no link"], p99[state]; without > 0 && with > 0 {
			assert.LessOrEqual(b, with, 2*without, "%s: p99 against that without a link", state)
		}
	}
}

// N7: the same while another computer floods this one, while it floods a third one through the same server, and
// while it does neither, in turn. Everything else that the machine does meanwhile affects all three alike. What
// the flood costs its sender and the server, which share these processors, is not our cost. The p99 of each
// tenth shows how far one of them can be believed.
func BenchmarkN7_Flood(b *testing.B) {
	for _, state := range []string{"flooded with questions", "flooded with what is refused", "flooded with mail"} {
		b.Run(state, func(b *testing.B) {
			others := newOthers(b)
			c := newComputer(b, "c", others.tells(), nil)
			from, to, target := c.session("from"), c.session("to"), c.session("target")
			c.knows("other", message.Peer{ID: message.ID(others.tells()), Name: "there"})
			var had atomic.Value
			var mails atomic.Int64
			c.told = func(d message.Delivery) {
				if d.Target == to.ID {
					had.Store(d.Message.Body)
				} else {
					mails.Add(1)
				}
			}
			const blocks, block = 10, 200
			states := []string{"linked", "beside", "flooded"}
			all, tenths := make([][]time.Duration, len(states)), make([][]time.Duration, len(states))
			others.does(b, state+"/"+string(target.ID)+"/c") // uses up what is read of a computer at once
			time.Sleep(5 * time.Second)
			others.does(b, "stop//c")
			b.Loop() // once is enough
			for n := range len(states) * blocks {
				flooded := n % len(states)
				floods := []string{"", "third", "c"}[flooded]
				if floods != "" {
					others.does(b, state+"/"+string(target.ID)+"/"+floods)
					time.Sleep(time.Second)
				}
				var took []time.Duration
				for i := range block {
					body := fmt.Sprint("near ", n, " ", i)
					sent := time.Now()
					_, err := c.send(from.ID, to.ID, body)
					require.NoError(b, err)
					for had.Load() != body {
						time.Sleep(20 * time.Microsecond)
					}
					took = append(took, time.Since(sent))
				}
				if floods != "" {
					others.does(b, "stop//"+floods)
					time.Sleep(200 * time.Millisecond)
				}
				slices.Sort(took)
				tenths[flooded] = append(tenths[flooded], took[block*99/100])
				all[flooded] = append(all[flooded], took...)
			}
			for b.Loop() { //nolint:revive // it has been measured
			}
			for flooded, what := range states {
				report(b, all[flooded], what)
				slices.Sort(tenths[flooded])
				b.ReportMetric(float64(tenths[flooded][0].Microseconds())/1e3, "ms-p99-min-"+what)
				b.ReportMetric(float64(tenths[flooded][blocks/2].Microseconds())/1e3, "ms-p99-median-"+what)
				b.ReportMetric(float64(tenths[flooded][blocks-1].Microseconds())/1e3, "ms-p99-max-"+what)
			}
			b.ReportMetric(float64(mails.Load()), "mails")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const measured = 3 * time.Second

// others is a server and other computers in another process.
type others struct {
	lines *bufio.Scanner
	in    io.Writer
}

const asOthers = "INTERCOM_OTHERS_OF_A_TEST"

func newOthers(b *testing.B) *others {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestOthers$")
	cmd.Env = append(os.Environ(), asOthers+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &others{bufio.NewScanner(out), in}
}

// tells returns the next line that they print.
func (o *others) tells() string {
	for o.lines.Scan() {
		if line, ok := strings.CutPrefix(o.lines.Text(), "others: "); ok {
			return line
		}
	}
	return ""
}

func (o *others) does(b *testing.B, what string) {
	_, err := fmt.Fprintln(o.in, what)
	require.NoError(b, err)
	require.Equal(b, "done", o.tells())
}

// TestOthers is the process of others.
func TestOthers(t *testing.T) {
	if os.Getenv(asOthers) == "" {
		t.Skip("a process of BenchmarkN7_Local")
	}
	require.NoError(t, syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19))
	srv := newServer(t, func(o *server.Options) { // on a disk of its own, too
		if dir, err := os.MkdirTemp("/dev/shm", "intercom"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			o.StoreDir = dir
		}
	})
	cable := newLine(t, hostOf(t, srv))
	other := newComputer(t, "other", srv.ClientURL(), nil)
	there := other.session("there")
	fmt.Println("others:", cable.url())
	fmt.Println("others:", there.ID)
	in := bufio.NewScanner(os.Stdin)
	m, stop := newMallory(t, srv), func() {}
	defer func() { stop() }()
	for in.Scan() {
		words := strings.Split(in.Text(), "/")
		what, target, to := words[0], words[1], words[2]
		switch what {
		case "stop":
			stop()
			stop = func() {}
			purge(t, m, to)
		case "down":
			cable.set(true)
		case "hanging":
			cable.hang(true)
			defer cable.hang(false)
		default:
			stop = flood(t, m, to, what, message.ID(target))
		}
		fmt.Println("others: done")
	}
}

// purge deletes what still waits for a computer.
func purge(t testing.TB, m *mallory, to string) {
	stream, err := m.js.Stream(context.Background(), link.StreamOf(to))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(context.Background()))
}

// flood makes a computer that keeps to no rule send more than is taken. If it sent as much as it could, it
// would take the processors that stand for this computer's.
func flood(t testing.TB, m *mallory, to, what string, target message.ID) (stop func()) {
	for _, name := range []string{"mallory", to} {
		_, err := link.EnsureMailbox(t.Context(), m.js, name)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	make1 := func(subject string, what any) *nats.Msg {
		signed, err := link.SignJSON(m.dir, subject, what)
		require.NoError(t, err)
		return signed
	}
	own := doc{"id": message.NewID(), "name": "Own"}
	switch what {
	case "flooded with questions":
		all := []*nats.Msg{
			make1(link.AskSubject(to, "mallory"), doc{"id": message.NewID(), "op": "sessions", "sent": time.Now()}),
		}
		if to == "c" { // everybody hears presence
			all = append(all, make1("intercom.v1.here.mallory", doc{"name": "mallory", "boot": "1", "revision": "1", "hello": true, "sent": time.Now()}))
		}
		done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_ = m.conn.PublishMsg(all[i%len(all)])
				if i%1000 == 0 {
					_ = m.conn.Flush()
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	case "flooded with what is refused":
		target = message.NewID()
		fallthrough
	case "flooded with mail", "flooded beyond its limits":
		for range 4 {
			done.Go(func() {
				for ctx.Err() == nil {
					signed := make1(link.ToSubject(to, "mallory"), doc{"kind": "message", "id": message.NewID(), "from": own, "to": target, "message": text("flood")})
					_, _ = m.js.PublishMsg(ctx, signed)
					time.Sleep(5 * time.Millisecond) // so that the mailbox is never empty
				}
			})
		}
	}
	return func() { cancel(); done.Wait() }
}
