package soaktest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// settles is how long a turn may take to end, or a pane to be read after a first look, on a busy machine.
const settles = 5 * time.Second

// fault is made at a moment of the run, given as a share of it.
type fault struct {
	at   float64
	name string
	make func()
}

// faults makes the faults, one after the other, until the time is over: the sidecar is killed every
// minute, all else at its moment.
func (w *world) faults(ctx context.Context) {
	w.notMade = append(w.notMade, "the clock set back under agents that were adopted before: what reads transcripts compares their dates with the machine's clock, which no test sets")
	every := max(time.Minute, w.length/60)
	if w.length < 5*time.Minute {
		every = w.length / 6
	}
	var all []fault
	for at := every; at < w.length; at += every {
		all = append(all, fault{float64(at) / float64(w.length), "kill", func() { w.killSidecar(w.here) }})
	}
	pause := min(10*time.Second, w.length/20)
	all = append(all,
		fault{0.12, "link", func() { w.cutLink(pause) }},
		fault{0.21, "clock", func() { w.setClock(24*60*60, "a day ahead") }},
		// It is set back between the line programs and the agents, see above.
		fault{0.35, "tmux", func() {
			w.killTmuxAnd(w.here, func() { w.setClock(-24*60*60, "a day behind") })
		}},
		fault{0.41, "clock", func() { w.setClock(0, "right again") }},
		fault{0.44, "hub", func() { w.killHub(pause) }},
		fault{0.52, "kill", func() { w.killSidecar(w.there) }},
		fault{0.63, "disk", func() { w.fillDisk(10 * time.Second) }},
		// A chat that begins while the clock is ahead.
		fault{0.72, "tmux", func() {
			w.setClock(10*60, "ten minutes ahead")
			w.killTmuxAnd(w.here, func() { w.setClock(0, "right again") })
		}},
		fault{0.87, "link", func() { w.cutLink(pause) }},
	)
	slices.SortFunc(all, func(a, b fault) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	wanted := regexp.MustCompile(os.Getenv("INTERCOM_SOAK_FAULTS")) // "": all
	for _, f := range all {
		if !wanted.MatchString(f.name) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(w.begun.Add(time.Duration(f.at * float64(w.length))))):
		}
		f.make()
	}
}

// awaits waits up to half a minute, and reports whether it was so.
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
	w.note(&w.made, from, fmt.Sprintf("%s: sidecar %d killed, until another one answers", c.name, pid))
	awaits(func() bool { // who has ended is not waited for for ever
		return c != w.here || !slices.ContainsFunc(speakers, func(name string) bool {
			_, err := api.Call(context.Background(), c.client, api.Explain, api.ExplainRequest{Pane: name})
			return err != nil
		})
	})
	w.unheard(from)
}

// unheard excuses what programs print meanwhile: just before, it is heard once its turn has ended, and
// what is printed while the next sidecar looks at them for the first time belongs to what that finds there.
func (w *world) unheard(from time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = append(w.deaf, soaktest.Span{From: from.Add(-2 * settles), To: time.Now().Add(settles)})
}

// broke writes down a finding of the run itself.
func (w *world) broke(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, soaktest.Finding{Invariant: invariant, Text: fmt.Sprintf(format, args...)})
}

// killTmuxAnd kills the tmux server, and with it all programs, and begins again with a server of the same
// name, as a person would. Between the line programs and the agents it does something else.
func (w *world) killTmuxAnd(c *computer, between func()) {
	from := time.Now()
	kill(c.PID)
	if !awaits(func() bool { return c.sidecar() == 0 }) {
		w.broke(soaktest.EndsAtRest, "%s: the sidecar outlives its tmux server by half a minute", c.name)
	}
	c.Restart()
	c.dress()
	c.settle(between)
	w.note(&w.made, from, fmt.Sprintf("%s: tmux server killed, until its programs are back", c.name))
	w.unheard(from)
}

// cutLink cuts the cable between the computers.
func (w *world) cutLink(pause time.Duration) {
	from := time.Now()
	w.hub.cuts(true)
	time.Sleep(pause)
	w.hub.cuts(false)
	w.note(&w.made, from, "the link cut")
}

// killHub kills the hub, and starts it again.
func (w *world) killHub(pause time.Duration) {
	from := time.Now()
	w.hub.kill()
	time.Sleep(pause)
	w.hub.start()
	w.note(&w.made, from, "the hub killed")
}

// setClock sets the clocks of the sidecars, never the machine's.
func (w *world) setClock(seconds int, what string) {
	from := time.Now()
	w.clock(seconds)
	w.note(&w.made, from, "the clocks of the sidecars: "+what)
}

// smallDisk puts a file system of its own there, where that can be done.
func (w *world) smallDisk(dir string) {
	if os.Getenv("INTERCOM_SOAK_APART") == "" {
		w.notMade = append(w.notMade, "a full disk: no file system can be mounted here")
		return
	}
	require.NoError(w.t, mount(dir))
	w.disk = dir
}

// fillDisk leaves no room on the disk of the journal for some time.
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
	w.note(&w.made, from, "the disk of the journal is full")
	w.unheard(from)
}

// legislate edits the policies: most are as before in another way, and every fifth is broken, which
// leaves those in use that were.
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
