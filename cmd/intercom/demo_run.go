package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

const (
	demoTurns    = 6 // answers of both agents together
	demoPatience = 30 * time.Second
	demoOpening  = "Hello! Please tell each other a few words."
)

// demoAgent is one of the two programs of the demo.
type demoAgent struct {
	name, log string
	session   message.Peer
}

// demoPlay is one run of the demo. Everything that it creates lies below dir.
type demoPlay struct {
	*app
	dir    string
	tmux   *tmux.Client
	client *api.Client
	agents []*demoAgent
}

// demoResult is what `intercom demo --json` prints.
type demoResult struct {
	OK      bool           `json:"ok"`
	Turns   int            `json:"turns"`
	Heard   map[string]int `json:"heard"` // by name: how many messages of the other it received
	Latency []float64      `json:"latency_ms"`
	Attach  string         `json:"attach,omitempty"` // with --keep: the command to look at it
	End     string         `json:"end,omitempty"`    // with --keep: the command to end it
}

// playDemo shows the main job: two scripted agents chat in real panes of a private tmux server. It succeeds only if the
// agents' own logs say that each has received the other's words. It leaves nothing behind unless keep is set.
func (a *app) playDemo(ctx context.Context, keep bool) (result demoResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	if _, err := exec.LookPath("tmux"); err != nil {
		return result, noTmux(api.CodeFailed)
	}
	d := &demoPlay{}
	if d.app, d.dir, err = a.demoDir(); err != nil {
		return result, err
	}
	defer func() {
		if keep && err == nil {
			d.keepOpen(&result)
			return
		}
		err = errors.Join(err, d.end())
	}()
	if err := d.open(ctx); err != nil {
		return result, err
	}
	if err := d.converse(ctx, &result); err != nil {
		return result, err
	}
	return result, d.judge(&result)
}

// demoDir creates the directory of a demo, and returns a copy of the app whose places lie below it. If the system's
// directory for temporary files has a path that is too long for a socket, as on macOS, it uses /tmp.
func (a *app) demoDir() (inner *app, dir string, err error) {
	for _, parent := range []string{"", "/tmp"} {
		if dir, err = os.MkdirTemp(parent, "intercom-demo-"); err != nil {
			return nil, "", err
		}
		inner = a.below(dir)
		if _, err = api.Places(inner.Getenv, inner.server); err == nil {
			return inner, dir, nil
		}
		err = errors.Join(err, os.Remove(dir))
	}
	return nil, "", err
}

// below returns a copy of the app with all its places under dir, so that it touches neither the user's sidecar nor
// their files.
func (a *app) below(dir string) *app {
	set := map[string]string{
		"HOME": dir, "XDG_RUNTIME_DIR": filepath.Join(dir, "run"), "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME": filepath.Join(dir, "config"), "TMUX_TMPDIR": dir, "TMUX": "", "INTERCOM_SERVER": "",
	}
	inner := *a
	inner.server, inner.named = filepath.Join(dir, "tmux.sock"), true
	inner.Published = nil
	inner.Getenv = func(name string) string {
		if v, ok := set[name]; ok {
			return v
		}
		return a.Getenv(name)
	}
	inner.Environ = func() []string {
		var all []string
		if a.Environ != nil {
			for _, pair := range a.Environ() {
				name, _, _ := strings.Cut(pair, "=")
				if _, ours := set[name]; !ours {
					all = append(all, pair)
				}
			}
		}
		for name, v := range set {
			if v != "" {
				all = append(all, name+"="+v)
			}
		}
		return all
	}
	return &inner
}

// open starts the tmux server with the two agents, and the sidecar, which adopts them.
func (d *demoPlay) open(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(d.dir, "run"), 0o700); err != nil {
		return err
	}
	d.tell("A private tmux server with two scripted agents in real panes; what one says, the other hears.\n\n")
	for i, name := range []string{"Ada", "Ben"} {
		agent := &demoAgent{name: name, log: filepath.Join(d.dir, name+".jsonl")}
		w := tmux.Window{
			Session: "demo", Name: name, Dir: d.dir, Width: 100, Height: 30,
			Command: []string{
				self, "persona", "--name", name, "--prompt", strings.ToLower(name) + "> ", "--log", agent.log,
			},
		}
		var pane string
		if i == 0 {
			d.tmux, pane, err = tmux.StartServer(ctx, tmux.Options{Socket: d.server}, w)
		} else {
			pane, err = d.tmux.NewWindow(ctx, w)
		}
		if err != nil {
			return err
		}
		if d.client == nil {
			if d.client, err = d.app.client(ctx); err != nil {
				return err
			}
		}
		if err := waitReady(ctx, agent.log); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		if agent.session, err = api.Call(ctx, d.client, api.Adopt, api.AdoptRequest{Pane: pane, As: "line", Name: name}); err != nil {
			return err
		}
		d.tell("  %-4s %s, a line program with the prompt %q\n", pane, name, agent.session.Prompt)
		d.agents = append(d.agents, agent)
	}
	d.tell("\n")
	return nil
}

// converse runs the chat and prints it as it happens.
func (d *demoPlay) converse(ctx context.Context, result *demoResult) error {
	chat, err := api.Call(ctx, d.client, api.StartChat, api.StartChatRequest{
		Panes: []string{d.agents[0].session.Pane, d.agents[1].session.Pane}, Name: "demo", Say: demoOpening, Turns: demoTurns,
	})
	if err != nil {
		return err
	}
	said := map[message.ID]*message.Envelope{}
	open := map[message.ID]bool{} // deliveries on their way
	ended := false
	for e, err := range api.Follow(ctx, d.client, api.Events, api.EventsQuery{}) {
		if err != nil {
			return err
		}
		switch {
		case e.Change != nil && e.Change.ID == chat.ID:
			ended = e.Change.State == message.ChatOver
		case e.Message != nil:
			said[e.Message.ID] = e.Message
			if e.Message.Type == message.KindTurn {
				result.Turns++
			}
		case e.Receipt != nil && e.Delivery != nil:
			r := e.Receipt
			if r.State == message.Submitted {
				d.show(said[r.Message], e, result)
			}
			if r.State == message.Submitted || r.State.Final() {
				delete(open, r.Delivery)
			} else {
				open[r.Delivery] = true
			}
		}
		if ended && len(open) == 0 {
			return nil
		}
	}
	return api.Errorf(api.CodeTimeout, "the conversation did not finish: %w", context.Cause(ctx))
}

// show prints one hop: who said what to whom, and the time from the last byte of the words until the other agent had
// taken them.
func (d *demoPlay) show(m *message.Envelope, e message.Event, result *demoResult) {
	if m == nil {
		return
	}
	to := "?"
	for _, agent := range d.agents {
		if agent.session.ID == e.Delivery.Target {
			to = agent.name
		}
	}
	hop := e.Receipt.At.Sub(m.Created)
	result.Latency = append(result.Latency, float64(hop.Microseconds())/1000)
	d.tell("%s → %s, %d ms\n", e.Delivery.Head, to, hop.Milliseconds())
	for line := range strings.Lines(m.Body) {
		d.tell("    %s\n", plainLine(strings.TrimRight(line, "\n")))
	}
}

// judge counts in the agents' own logs what they received.
func (d *demoPlay) judge(result *demoResult) error {
	result.Heard = map[string]int{}
	for i, agent := range d.agents {
		other := d.agents[1-i]
		lines, _, err := personaRead(agent.log)
		if err != nil {
			return err
		}
		result.Heard[agent.name] = 0
		for _, line := range lines {
			if strings.HasPrefix(line, "["+other.name+"] (") && strings.Contains(line, ": "+other.name+"-") {
				result.Heard[agent.name]++
			}
		}
	}
	a, b := d.agents[0].name, d.agents[1].name
	result.OK = result.Heard[a] > 0 && result.Heard[b] > 0
	d.tell("\nBy their own logs, %s received %s of %s, and %s received %d of %s.\n", a, several(result.Heard[a], "message"), b, b, result.Heard[b], a)
	if !result.OK {
		return api.Errorf(api.CodeFailed, "at least one of them did not receive the other's words")
	}
	return nil
}

// keepOpen leaves everything running and says how to look at it and how to end it.
func (d *demoPlay) keepOpen(result *demoResult) {
	result.Attach, result.End = lookAndEnd(ownProgram(d.Executable), d.server, d.dir)
	d.tell("\nStill running. To look:    %s\n", result.Attach)
	d.tell("               To end it:  %s\n", result.End)
	_ = d.tmux.Close()
}

// lookAndEnd returns the commands with which a person looks at a demo that is kept, and ends it.
func lookAndEnd(program, server, dir string) (look, end string) {
	program, server, dir = plaintext.ShellWord(program), plaintext.ShellWord(server), plaintext.ShellWord(dir)
	// End the sidecar first: a sidecar that ends by itself may still use its files when they are removed.
	return "tmux -S " + server + " attach", fmt.Sprintf("%s --server %s down; tmux -S %s kill-server; rm -r %s", program, server, server, dir)
}

// end ends the sidecar and the server, and removes what they left.
func (d *demoPlay) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), quickTimeout)
	defer cancel()
	var errs []error
	if d.client != nil {
		if _, err := api.Call(ctx, d.client, api.Down, api.None{}); err != nil {
			errs = append(errs, fmt.Errorf("end the sidecar: %w", err))
		} else if p, err := api.Places(d.Getenv, d.server); err == nil {
			errs = append(errs, api.WaitReleased(ctx, p.Lock))
		}
	}
	if d.tmux != nil {
		errs = append(errs, d.tmux.KillServer(ctx), d.tmux.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// tell prints progress for people; with --json only the result is printed.
func (d *demoPlay) tell(format string, args ...any) {
	if !d.json {
		fmt.Fprintf(d.Stdout, format, args...)
	}
}

// waitReady waits until the persona that writes the log reads its input.
func waitReady(ctx context.Context, log string) error {
	for {
		_, reads, err := personaRead(log)
		if reads || err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
