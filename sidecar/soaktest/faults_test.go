package soaktest_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// settles is how long a turn may take to end, or a pane to be read after a first look, on a busy machine.
const settles = 5 * time.Second

// fault is a fault at a moment of the run, given as a share of the run's length.
type fault struct {
	at   float64
	kind soaktest.Kind
	make func()
}

// lastFault is the share of a run by which the last fault is made. After it comes the quiet
// stretch, in which growth with the messages alone is found.
const lastFault = 5.0 / 6

// wanted reports whether faults of a kind are to be made. INTERCOM_SOAK_FAULTS selects some.
func wanted(kind soaktest.Kind) bool {
	return regexp.MustCompile(os.Getenv("INTERCOM_SOAK_FAULTS")).MatchString(string(kind)) // "": all
}

// faults makes the faults, one after another, until the time is over: it kills the sidecar every
// minute, and makes every other fault at its moment.
func (w *world) faults(ctx context.Context) {
	w.unmade("the clock set back under agents that were adopted before: what reads transcripts compares their dates with the machine's clock, which no test sets")
	every := max(time.Minute, w.length/60)
	if w.length < 5*time.Minute {
		every = w.length / 6
	}
	var all []fault
	for at := every; at < time.Duration(lastFault*float64(w.length)); at += every {
		all = append(all, fault{float64(at) / float64(w.length), soaktest.Kill, func() { w.killSidecar(w.here) }})
	}
	pause := min(10*time.Second, w.length/20)
	all = append(all,
		fault{0.12, soaktest.Link, func() { w.cutLink(pause) }},
		fault{0.21, soaktest.Clock, func() { w.setClock(24*60*60, "a day ahead") }},
		fault{0.28, soaktest.Pause, func() { w.pauseChat(w.here, pause, "pair", "answers") }},
		// Set the clock back between the line programs and the agents; see above.
		fault{0.35, soaktest.Tmux, func() {
			w.killTmuxAnd(w.here, func() { w.setClock(-24*60*60, "a day behind") })
		}},
		fault{0.41, soaktest.Clock, func() { w.setClock(0, "right again") }},
		fault{0.44, soaktest.Hub, func() { w.killHub(pause) }},
		fault{0.52, soaktest.Kill, func() { w.killSidecar(w.there) }},
		fault{0.58, soaktest.Disk, func() { w.fillDisk(10 * time.Second) }},
		// A chat that begins while the clock is ahead.
		fault{0.68, soaktest.Tmux, func() {
			w.setClock(10*60, "ten minutes ahead")
			w.killTmuxAnd(w.here, func() { w.setClock(0, "right again") })
		}},
		fault{0.79, soaktest.Link, func() { w.cutLink(pause) }},
	)
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range all {
		if !wanted(f.kind) {
			continue
		}
		select {
		case <-ctx.Done():
			w.unmade(fmt.Sprintf("%s, planned for %v: those before it took too long", f.kind, time.Duration(f.at*float64(w.length)).Round(time.Second)))
			w.broke(soaktest.FaultsMade, "%s, planned for %v, came too late to be made", f.kind, time.Duration(f.at*float64(w.length)).Round(time.Second))
			continue
		case <-time.After(time.Until(w.begun.Add(time.Duration(f.at * float64(w.length))))):
		}
		f.make()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = soaktest.Span{From: time.Now(), To: w.begun.Add(w.length)}
}

// unmade records a fault that cannot be made here.
func (w *world) unmade(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notMade = append(w.notMade, why)
}

// awaits waits up to half a minute, and reports whether so became true.
func awaits(so func() bool) bool {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if so() {
			return true
		}
	}
	return false
}

// killSidecar kills a sidecar, and waits until another one answers.
func (w *world) killSidecar(c *computer) {
	from, pid := time.Now(), c.sidecar()
	kill(pid)
	if !awaits(func() bool {
		now := c.sidecar()
		return now != 0 && now != pid && c.client.Ping(context.Background()) == nil
	}) {
		w.broke(soaktest.EndsAtRest, "%s: no sidecar came back within half a minute", c.name)
	}
	w.fault(soaktest.Kill, c.name, from, fmt.Sprintf("%s: sidecar %d killed, until another one answers", c.name, pid))
	awaits(func() bool { // do not wait for ever for a process that has ended
		return c != w.here || !slices.ContainsFunc(speakers, func(name string) bool {
			_, err := api.Call(context.Background(), c.client, api.Explain, api.ExplainRequest{Pane: name})
			return err != nil
		})
	})
	w.unheard(from)
}

// unheard excuses the output of programs during that time. Output shortly before it is heard only
// once its turn has ended, and output during the next sidecar's first look belongs to what that
// look finds.
func (w *world) unheard(from time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = append(w.deaf, soaktest.Span{From: from.Add(-2 * settles), To: time.Now().Add(settles)})
}

// broke records a finding of the run itself.
func (w *world) broke(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, soaktest.Finding{Invariant: invariant, Text: fmt.Sprintf(format, args...)})
}

// killTmuxAnd kills the tmux server, and with it all programs, and begins again with a server of
// the same name, as a person would. It calls between after the line programs and before the agents.
func (w *world) killTmuxAnd(c *computer, between func()) {
	from := time.Now()
	kill(c.PID)
	if !awaits(func() bool { return c.sidecar() == 0 }) {
		w.broke(soaktest.EndsAtRest, "%s: the sidecar outlives its tmux server by half a minute", c.name)
	}
	c.successor()
	c.Restart()
	c.dress()
	c.settle(between)
	w.fault(soaktest.Tmux, c.name, from, fmt.Sprintf("%s: tmux server killed, until its programs are back", c.name))
	w.unheard(from)
}

// cutLink cuts the cable between the computers.
func (w *world) cutLink(pause time.Duration) {
	from := time.Now()
	w.hub.cuts(true)
	time.Sleep(pause)
	w.hub.cuts(false)
	w.fault(soaktest.Link, "", from, "the link cut")
}

// killHub kills the hub, and starts it again.
func (w *world) killHub(pause time.Duration) {
	from := time.Now()
	w.hub.kill()
	time.Sleep(pause)
	w.hub.start()
	w.fault(soaktest.Hub, "", from, "the hub killed")
}

// setClock sets the clocks of the sidecars, never the machine's.
func (w *world) setClock(seconds int, what string) {
	from := time.Now()
	w.clock(seconds)
	w.fault(soaktest.Clock, "", from, "the clocks of the sidecars: "+what)
}

// pauseChat pauses chats for some time. Words said meanwhile are delivered in the end, in their
// order.
func (w *world) pauseChat(c *computer, pause time.Duration, names ...string) {
	from := time.Now()
	for _, name := range names {
		if _, err := api.Call(context.Background(), c.client, api.PauseChat, api.ChatRef{Chat: name}); err != nil {
			w.broke(soaktest.FaultsMade, "chat %s is not paused: %v", name, err)
		}
	}
	time.Sleep(pause)
	for _, name := range names {
		if _, err := api.Call(context.Background(), c.client, api.ResumeChat, api.ChatRef{Chat: name}); err != nil {
			w.broke(soaktest.EndsAtRest, "chat %s does not go on after a pause: %v", name, err)
		}
	}
	w.fault(soaktest.Pause, c.name, from, "chats paused: "+strings.Join(names, ", "))
}

// smallDisk mounts a small file system there, if that is possible.
func (w *world) smallDisk(dir string) {
	if os.Getenv("INTERCOM_SOAK_APART") == "" {
		w.unmade("a full disk: no file system can be mounted here")
		if os.Getenv("INTERCOM_SOAK") != "" && wanted(soaktest.Disk) {
			w.broke(soaktest.FaultsMade, "no disk becomes full: no file system can be mounted here; INTERCOM_SOAK_FAULTS can leave that out")
		}
		return
	}
	require.NoError(w.t, mount(dir))
	w.disk = dir
}

// fillDisk fills the disk of the journal for some time.
func (w *world) fillDisk(pause time.Duration) {
	if w.disk == "" {
		return
	}
	from := time.Now()
	path := filepath.Join(w.disk, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	for size := int64(1 << 24); err == nil && size > 0; {
		info, _ := f.Stat()
		if syscall.Fallocate(int(f.Fd()), 0, info.Size(), size) != nil {
			size /= 2
			if size < 512 {
				break
			}
		}
	}
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	f.Close()
	time.Sleep(pause)
	if err := os.Remove(path); err != nil {
		w.broke(soaktest.EndsAtRest, "the disk stays full: %v", err)
	}
	w.fault(soaktest.Disk, "here", from, "the disk of the journal is full")
	w.unheard(from)
}

// legislate edits the policies. Most editions do the same in another way, and every fifth is
// broken, which leaves the policies that were in use.
func (w *world) legislate(ctx context.Context) {
	dir := filepath.Join(w.here.env["XDG_CONFIG_HOME"], "intercom", "policies")
	require.NoError(w.t, os.MkdirAll(dir, 0o700))
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(15*time.Second, w.length/20)):
		}
		text := fmt.Sprintf("intercom.rule(%q, { body = %q }, intercom.drop { reason = \"never\" })\n", fmt.Sprintf("edition %d", n), fmt.Sprintf("nobody says this %d", n))
		if n%5 == 0 {
			text += "this is not Lua\n"
		}
		path := filepath.Join(dir, "50-soak.lua")
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err == nil {
			_ = os.Rename(path+".new", path)
		}
		w.mu.Lock()
		w.editions = n
		w.mu.Unlock()
	}
}
