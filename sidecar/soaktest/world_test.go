package soaktest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
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
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// world is everything that runs.
type world struct {
	t       testing.TB
	dir     string
	length  time.Duration
	rate    float64
	ledger  soaktest.Ledger
	here    *computer
	there   *computer
	hub     *hub
	port    *port
	repos   *repositories
	program string
	begun   time.Time
	ended   time.Time
	clocks  clocks
	answer  []string // who answers

	mu       sync.Mutex
	found    []soaktest.Finding
	made     []soaktest.Span // faults
	deaf     []soaktest.Span // times in which a program's output may go unheard
	quiet    soaktest.Span   // after the last fault
	notMade  []string
	disk     string // may become full; "" for none
	editions int    // of the policies
	vitals   []soaktest.Vital
}

// computer consists of a HOME, a tmux server and a sidecar.
type computer struct {
	*tmuxtest.Server
	w      *world
	name   string
	env    map[string]string
	paths  api.Paths
	client *api.Client
	panes  map[string]*program // by name
	lives  []life              // of its tmux servers; the last one is running
	next   []life
	mu     sync.Mutex
	record record
}

// life is a tmux server, and the transport by which the sidecar is to reach it.
type life struct {
	version   tmuxtest.Version
	transport string
	used      string // the one that the sidecar reports
}

func (l life) String() string { return fmt.Sprintf("tmux %s, %s", l.version.Name, l.used) }

// program is a program in a pane.
type program struct {
	name, log, control string
	kind               string // claude, codex: its stand-in; "" is a line program
	dir                string // its working directory; "" is any
	reply              string // its answer to every message; "" is silence
	pane               string

	mu     sync.Mutex
	read   int64          // how much of its log newest has read
	latest map[string]int // what newest found there, by stream
}

// settings returns settings that keep the limits from interfering with the test, and that link the
// computer to the other one.
func (w *world) settings(name, other string) string {
	return fmt.Sprintf(`intercom.configure {
  brakes = { own_minute = 1000000, own_hour = 1000000, own_fan_out = 1000, rate = 1000000, bytes = 1000000000, depth = 1000000 },
  computer = { name = %q, nats = %q, creds = %q },
  computers = { [%q] = { may = { "send", "answer", "chat" } } },
}
`, name, w.hub.through, w.hub.add(name), other)
}

func newWorld(t testing.TB, length time.Duration, rate float64) *world {
	dir, err := os.MkdirTemp("/tmp", "icsoak")
	require.NoError(t, err)
	w := &world{t: t, dir: dir, length: length, rate: rate}
	t.Cleanup(func() { // the last
		if !awaits(func() bool { return len(w.left()) == 0 }) {
			t.Errorf("processes are left: %v", w.left())
		}
		if w.disk != "" {
			require.NoError(t, unmount(w.disk)) // otherwise the mount remains
		}
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	w.program, err = programtest.Build("intercom-soak", "cmd/intercom", "GOFLAGS=-tags=soak")
	require.NoError(t, err)
	w.clock(0)
	w.hub = w.newHub()
	// All transports: processes, then control mode if the newest version allows it, then the native
	// client; the native client also on the oldest version, which forgives it least.
	versions := tmuxtest.Versions(t)
	oldest, newest := versions[0], versions[len(versions)-1]
	w.here = w.newComputer("here", life{version: oldest, transport: "auto"}, life{version: newest, transport: "auto"}, life{version: newest, transport: "native"})
	w.there = w.newComputer("there", life{version: oldest, transport: "native"})
	w.there.line("Far")
	w.here.line("Gus")
	w.port = w.newPort(w.here)
	w.meet()
	for _, name := range []string{"Ann", "Ben", "Cyd"} {
		w.here.line(name)
	}
	w.here.line("Dan")
	w.here.line("Eve")
	w.here.chat("pair", "Dan", "Eve")
	w.here.coder("Hal", "codex")
	w.here.coder("Ivy", "claude")
	w.here.chat("agents", "Hal", "Ivy")
	w.here.coder("Nia", "codex")
	w.here.answers("Oto", "claude")
	w.here.chat("answers", "Nia", "Oto")
	w.here.answers("Kim", "claude")
	w.here.line("Jan")
	w.repos = w.newRepositories(w.here)
	w.here.lineIn("Lea", w.repos.to, "fine") // a repository's next question waits for the answer to the previous one
	return w
}

func (w *world) newComputer(name string, lives ...life) *computer {
	home := filepath.Join(w.dir, name)
	for _, d := range []string{"run", "state", "data", "config/intercom"} {
		require.NoError(w.t, os.MkdirAll(filepath.Join(home, d), 0o700))
	}
	other := map[string]string{"here": "there", "there": "here"}[name]
	require.NoError(w.t, os.WriteFile(filepath.Join(home, "config/intercom/init.lua"), []byte(w.settings(name, other)), 0o600))
	c := &computer{w: w, name: name, panes: map[string]*program{}, lives: lives[:1], next: lives[1:]}
	if name == "here" {
		w.smallDisk(filepath.Join(home, "state"))
	}
	c.env = map[string]string{
		"HOME": home, "XDG_RUNTIME_DIR": filepath.Join(home, "run"), "XDG_STATE_HOME": filepath.Join(home, "state"),
		"XDG_DATA_HOME": filepath.Join(home, "data"), "XDG_CONFIG_HOME": filepath.Join(home, "config"), "TERM": "xterm-256color", "LANG": "C.UTF-8", "INTERCOM_SOAK_DIR": w.dir, "INTERCOM_PERSONA_CLOCK": filepath.Join(w.dir, "clock"),
	}
	c.speak(lives[0])
	c.Server = tmuxtest.NewServer(w.t, lives[0].version)
	c.dress()
	var err error
	c.paths, err = api.Places(func(name string) string { return c.env[name] }, c.Socket)
	require.NoError(w.t, err)
	c.client = &api.Client{Socket: c.paths.Socket, Wait: 15 * time.Second}
	c.up()
	w.t.Cleanup(func() {
		// Include the sidecar without a tmux server, which otherwise starts later for ports and
		// repositories.
		down := c.command("down", "--all")
		down.Args = down.Args[:3]
		if out, err := down.CombinedOutput(); err != nil {
			w.t.Errorf("%s: down --all: %v: %s", name, err, out)
		}
	})
	return c
}

// up starts the sidecar, and asks it which transport it uses.
func (c *computer) up() {
	c.intercom("up")
	s, err := api.Call(context.Background(), c.client, api.ShowStatus, api.None{})
	require.NoError(c.w.t, err)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.lives[len(c.lives)-1].used = s.Transport
}

// successor gives the next server the next kind of the list, or the same kind again if none is
// left.
func (c *computer) successor() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	next := c.lives[len(c.lives)-1]
	if len(c.next) > 0 {
		next, c.next = c.next[0], c.next[1:]
	}
	c.lives = append(c.lives, next)
	c.Version = next.version
	c.speak(next)
}

// speak makes the sidecar use the transport of a life, and find the tmux of its version first.
func (c *computer) speak(l life) {
	c.env["INTERCOM_TRANSPORT"] = l.transport
	c.env["PATH"] = filepath.Dir(l.version.Bin) + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// dress gives the tmux server the environment of the computer.
func (c *computer) dress() {
	c.Run("set-option", "-g", "history-limit", "100") // otherwise its memory grows until the history is full
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		c.Run("set-environment", "-g", name, c.env[name])
	}
}

// command returns a command of the program on the computer.
func (c *computer) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.w.program, append(args, "--server="+c.Socket)...)
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func (c *computer) intercom(args ...string) string {
	out, err := c.command(args...).CombinedOutput()
	require.NoError(c.w.t, err, "%v: %s", args, out)
	return string(out)
}

// line starts a line program that takes its input and answers nothing, and adopts it.
func (c *computer) line(name string) *program { return c.lineIn(name, "", "") }

func (c *computer) lineIn(name, dir, reply string) *program {
	p := &program{name: name, dir: dir, reply: reply, log: filepath.Join(c.w.dir, name+".jsonl"), control: filepath.Join(c.w.dir, name+".ctl")}
	c.mu.Lock()
	c.panes[name] = p
	c.mu.Unlock()
	c.seat(p)
	return p
}

// coder starts the stand-in of an agent that takes its messages and says nothing by itself.
func (c *computer) coder(name, kind string) *program { return c.coderWith(name, kind, "") }

// answers starts a stand-in that gives each message the same answer.
func (c *computer) answers(name, kind string) *program {
	c.w.answer = append(c.w.answer, name)
	return c.coderWith(name, kind, "heard, and done")
}

func (c *computer) coderWith(name, kind, reply string) *program {
	p := &program{name: name, kind: kind, reply: reply, log: filepath.Join(c.w.dir, name+".jsonl"), control: filepath.Join(c.w.dir, name+".ctl")}
	if err := os.Symlink(personatest.Program(c.w.t), filepath.Join(c.w.dir, kind)); !errors.Is(err, fs.ErrExist) {
		require.NoError(c.w.t, err)
	}
	c.mu.Lock()
	c.panes[name] = p
	c.mu.Unlock()
	c.seat(p)
	return p
}

// seat starts a program in a pane, and again after the end of a server.
func (c *computer) seat(p *program) {
	_ = os.Remove(p.control)
	before := p.starts()
	as, words := "line", []string{personatest.Program(c.w.t), "line", "--prompt", p.name + "> ", "--bracketed"}
	if p.kind != "" {
		as, words = "", []string{filepath.Join(c.w.dir, p.kind), p.kind, "--think", "20ms"}
	}
	words = append(words, "--name", p.name, "--log", p.log, "--control", p.control, "--reply", cmp.Or(p.reply, "none"))
	dir := cmp.Or(p.dir, c.w.dir)
	p.pane = c.NewPane("sh", append([]string{"-c", `cd "$0" && exec "$@"`, dir}, words...)...)
	if !awaits(func() bool { return p.starts() > before }) {
		c.w.t.Errorf("%s does not start", p.name)
	}
	_, err := api.Call(context.Background(), c.client, api.Adopt, api.AdoptRequest{Pane: p.pane, As: as, Name: p.name})
	if err != nil && strings.HasSuffix(err.Error(), fmt.Sprintf("pane %s is already adopted, as %q", p.pane, p.name)) {
		return // a sidecar that was killed before it could answer had adopted it
	}
	require.NoError(c.w.t, err)
}

// starts returns how often a program has begun to read keys.
func (p *program) starts() int {
	records, _ := persona.ReadLog(p.log) // none yet
	n := 0
	for i, r := range records {
		if r.Event == persona.EventStart && slices.ContainsFunc(records[i:], func(r persona.Record) bool { return r.Event == persona.EventReady }) {
			n++
		}
	}
	return n
}

// settle restarts a computer's programs after a new tmux server: line programs, then agents.
func (c *computer) settle(between func()) {
	c.mu.Lock()
	all := slices.SortedFunc(maps.Values(c.panes), func(a, b *program) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name)) })
	c.mu.Unlock()
	c.up()
	agents := slices.IndexFunc(all, func(p *program) bool { return p.kind != "" })
	for _, p := range all[:agents] {
		c.seat(p)
	}
	c.chat("pair", "Dan", "Eve")
	between()
	for _, p := range all[agents:] {
		c.seat(p)
	}
	c.chat("agents", "Hal", "Ivy")
	c.chat("answers", "Nia", "Oto")
}

// chat connects programs.
func (c *computer) chat(name string, who ...string) {
	_, err := api.Call(context.Background(), c.client, api.StartChat, api.StartChatRequest{Panes: who, Name: name, Set: map[string]string{
		"depth": "1000000", "rate": "1000000", "bytes": "1000000000", "stall": "off",
	}})
	require.NoError(c.w.t, err)
}

// sidecar returns the process that serves the computer, or 0 for none.
func (c *computer) sidecar() int { return api.Holder(c.paths.Lock) }

// rest waits until nothing is on its way any more, as long as the number falls.
func (w *world) rest(ctx context.Context) {
	deadline, least := time.Now().Add(90*time.Second), math.MaxInt
	for quiet := 0; quiet < 3 && time.Now().Before(deadline); time.Sleep(time.Second) {
		quiet++
		sum := 0
		for _, c := range []*computer{w.here, w.there} {
			_, open, err := c.journal(ctx)
			if sum += open; err != nil || open > 0 {
				quiet = 0
			}
		}
		if sum < least {
			deadline, least = time.Now().Add(90*time.Second), sum
		}
	}
	for _, c := range []*computer{w.here, w.there} {
		if left, err := c.Try("list-buffers"); err == nil && left != "" {
			w.broke(soaktest.EndsAtRest, "%s: buffers are left in the tmux server: %s", c.name, left)
		}
	}
}

// history collects all records of the run.
func (w *world) history(ctx context.Context) soaktest.History {
	h := soaktest.History{Words: w.ledger.Words(), Taken: map[string]soaktest.Taken{}, Journals: map[string]map[soaktest.Mark]soaktest.Journal{}, Vitals: w.vitals, Made: w.made, Deaf: w.deaf, Clocks: w.clocks.until(w.ended), Plan: w.plan(), Answer: w.answer, Quiet: w.quiet}
	h.Proofs = map[string]string{"talk": "status is sent: it is in the inbox", "stream": "nothing, by the protocol"}
	h.Taken[w.port.name] = soaktest.Taken{Marks: w.port.marks}
	// Read the journals first: words taken after that are on their way in them.
	for _, c := range []*computer{w.here, w.there} {
		known, _, err := c.journal(ctx)
		require.NoError(w.t, err)
		c.record.close(w.t)
		if c == w.here {
			for m, j := range w.repos.told() {
				if len(known[m]) == 0 { // a message reaches nobody if no agent works there
					known[m] = j
				}
			}
		}
		h.Journals[c.name] = known
		if w.disk != "" { // it ends with the test
			for _, file := range []string{c.paths.Log, c.paths.PolicyLog} {
				text, _ := os.ReadFile(file)
				_ = os.WriteFile(filepath.Join(w.dir, c.name+"-"+filepath.Base(file)), text, 0o600)
			}
		}
	}
	for _, c := range []*computer{w.here, w.there} {
		for name, p := range c.panes {
			h.Taken[name] = p.taken(w.t)
		}
	}
	return h
}

// taker returns the program of that name, or nil if that is no program.
func (w *world) taker(name string) *program {
	for _, c := range []*computer{w.here, w.there} {
		c.mu.Lock()
		p := c.panes[name]
		c.mu.Unlock()
		if p != nil {
			return p
		}
	}
	return nil
}

// newest returns the greatest number of a stream that a program has taken so far.
func (p *program) newest(stream string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.Open(p.log)
	if err != nil {
		return p.latest[stream]
	}
	defer f.Close()
	text, _ := io.ReadAll(io.NewSectionReader(f, p.read, 1<<30))
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	p.read += int64(len(text))
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(`"event":"`+persona.EventReceived+`"`)) {
			continue
		}
		for _, m := range soaktest.Marks(string(line)) {
			if p.latest == nil {
				p.latest = map[string]int{}
			}
			p.latest[m.Stream] = max(p.latest[m.Stream], m.Seq)
		}
	}
	return p.latest[stream]
}

// taken returns what a program has received.
func (p *program) taken(t testing.TB) soaktest.Taken {
	records, err := persona.ReadLog(p.log)
	require.NoError(t, err)
	got := soaktest.Taken{Bytes: map[soaktest.Mark]int{}}
	var bytes strings.Builder
	for _, r := range records {
		switch r.Event {
		case persona.EventReceived:
			got.Marks = append(got.Marks, soaktest.Marks(r.Text)...)
		case persona.EventRead:
			bytes.Write(r.Bytes)
		}
	}
	for _, m := range soaktest.Marks(bytes.String()) {
		got.Bytes[m]++
	}
	return got
}

// about returns the circumstances of the run.
func (w *world) about() (lines []string) {
	for _, c := range []*computer{w.here, w.there} {
		var lives []string
		for _, l := range c.lives {
			lives = append(lives, l.String())
		}
		lines = append(lines, c.name+": "+strings.Join(lives, "; then "))
	}
	if out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output(); err == nil {
		lines = append(lines, "commit "+strings.TrimSpace(string(out)))
	}
	return append(lines, fmt.Sprintf("policies edited %d times", w.editions), "files of the run: "+w.dir)
}

// fault records a fault that is over.
func (w *world) fault(kind soaktest.Kind, on string, from time.Time, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, soaktest.Span{Kind: kind, On: on, From: from, To: time.Now(), What: what})
}

// watch looks at all processes every second.
func (w *world) watch(ctx context.Context) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		children := children()
		for _, c := range []*computer{w.here, w.there} {
			guard, _ := api.GuardOf(c.paths)
			w.mu.Lock()
			life := c.lives[len(c.lives)-1]
			w.mu.Unlock()
			if life.used == "" { // it has just begun
				continue
			}
			for who, pid := range map[string]int{"sidecar": c.sidecar(), "guard": guard.PID, "tmux server": c.PID} {
				v, ok := look(pid)
				if !ok {
					continue
				}
				v.Who, v.Clients, v.Children = fmt.Sprintf("%s, %v: %s", c.name, life, who), -1, children[pid]
				if text, err := os.ReadFile(filepath.Join(w.dir, fmt.Sprintf("goroutines-%d", pid))); err == nil {
					_, _ = fmt.Sscan(string(text), &v.Routines)
				}
				if who == "tmux server" {
					out, err := c.Try("list-clients", "-F", "#{client_pid}")
					if err != nil {
						continue
					}
					v.Clients = len(strings.Fields(out))
				}
				w.mu.Lock()
				w.vitals = append(w.vitals, v)
				w.mu.Unlock()
			}
		}
	}
}

// attached checks that a tmux client was present wherever control mode was in use, which proves
// that clients were counted.
func (w *world) attached() {
	for _, c := range []*computer{w.here, w.there} {
		for _, life := range c.lives {
			who := fmt.Sprintf("%s, %v: tmux server", c.name, life)
			if life.used == "control" && !slices.ContainsFunc(w.vitals, func(v soaktest.Vital) bool { return v.Who == who && v.Clients > 0 }) {
				w.broke(soaktest.FaultsMade, "%s: no client was ever seen to be attached", who)
			}
		}
	}
}

// children returns how many child processes each process has, including zombies.
func children() map[int]int {
	all := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file) // it may have ended
		var state string
		var parent int
		// The name before it, in brackets, may contain anything.
		if _, err := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent); err == nil {
			all[parent]++
		}
	}
	return all
}

// left returns the processes of the run that have not ended.
func (w *world) left() (all []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "INTERCOM_SOAK_DIR="+w.dir+"\x00") {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			all = append(all, filepath.Base(filepath.Dir(file))+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return all
}

// look looks at a process.
func look(pid int) (v soaktest.Vital, ok bool) {
	if pid <= 0 {
		return v, false
	}
	v = soaktest.Vital{At: time.Now(), PID: pid}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return v, false
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return v, false
	}
	v.Memory = resident * int64(os.Getpagesize())
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	v.Files = len(files)
	return v, err == nil && v.Memory > 0 // otherwise it has ended, and is a zombie
}

// kill kills a process, and waits until it has gone.
func kill(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for range 1000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
