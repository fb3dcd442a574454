// Package powercuttest cuts the power beneath a program. It records what the program does to a
// directory, system call by system call, and replays that up to each of them. Changes that were not
// synced by then are there in part, as on a real disk.
package powercuttest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// calls are the system calls that change files. A name behind ? may not exist on an architecture.
var calls = []string{"?open", "openat", "close", "write", "?writev", "pwrite64", "ftruncate", "lseek", "fsync", "fdatasync", "?rename", "renameat", "renameat2", "?link", "linkat", "?unlink", "unlinkat", "?mkdir", "mkdirat", "?rmdir"}

// Trace records what a program did.
type Trace struct {
	dir   string
	begin func() (*disk, error)
	lines []line
	// Forget leaves out the calls of that kind, so that a test sees that it would notice.
	Forget string
	// Every, if above 1, cuts the power only behind changes whose number is a multiple of it, for
	// disks that take long to check.
	Every int
}

type line struct {
	pid    string
	call   string
	args   string
	result string
}

// Record runs a program, and records what it does below a directory and writes to its standard
// output.
func Record(t testing.TB, dir string, program *exec.Cmd) *Trace {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which a program is watched: install the package strace")
	}
	if err := exec.Command(strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	before := filepath.Join(t.TempDir(), "before")
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "trace")
	program.Args = append([]string{strace, "-f", "-qq", "-y", "-xx", "-s", "4194304", "-o", out, "-e", "trace=" + strings.Join(calls, ","), "-e", "signal=none", program.Path}, program.Args[1:]...)
	program.Path = strace
	if said, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Trace{dir: dir, lines: lines, begin: func() (*disk, error) {
		d, err := newDisk(before)
		if err != nil {
			return nil, err
		}
		moved := func(names map[string]*file) map[string]*file {
			out := make(map[string]*file, len(names))
			for name, f := range names {
				rel, _ := filepath.Rel(before, name)
				out[filepath.Join(dir, rel)] = f
			}
			return out
		}
		d.names, d.durable = moved(d.names), moved(d.durable)
		return d, nil
	}}
}

var (
	whole   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (-?\d+|\?)(.*)$`)
	begun   = regexp.MustCompile(`^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$`)
	resumed = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	never   = regexp.MustCompile(`^\d+ +\?\?\?\( <detached \.\.\.>$`) // its thread ended before strace could ask for its next call
	escaped = regexp.MustCompile(`\\x([0-9a-f]{2})`)
)

func parse(text string) (all []line, err error) {
	unfinished := map[string]string{}
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if m := begun.FindStringSubmatch(l); m != nil {
			unfinished[m[1]] = m[2] + "(" + m[3]
			continue
		}
		if m := resumed.FindStringSubmatch(l); m != nil {
			l = m[1] + " " + unfinished[m[1]] + m[3]
		}
		m := whole.FindStringSubmatch(l)
		if m == nil {
			if never.MatchString(l) || strings.Contains(l, "+++") || strings.Contains(l, "---") || strings.Contains(l, " = ?") {
				continue
			}
			return nil, fmt.Errorf("trace: %.200s", l)
		}
		all = append(all, line{m[1], m[2], m[3], m[4] + m[5]})
	}
	return all, nil
}

// plain decodes a string of strace, all of it in hexadecimal.
func plain(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(x string) string {
		n, _ := strconv.ParseUint(x[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// fields splits the arguments at commas outside strings, brackets and structures.
func fields(args string) (all []string) {
	depth, quoted, from := 0, false, 0
	for i := range len(args) {
		switch c := args[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{' || c == '<':
			depth++
		case c == ']' || c == '}' || c == '>':
			depth--
		case c == ',' && depth == 0:
			all, from = append(all, strings.TrimSpace(args[from:i])), i+1
		}
	}
	return append(all, strings.TrimSpace(args[from:]))
}

// fd returns the number and the path of a descriptor, as strace writes it: 5</x/y>.
func fd(text string) (n int, path string) {
	number, rest, _ := strings.Cut(text, "<")
	n, err := strconv.Atoi(number)
	if err != nil {
		n = -100
	}
	return n, plain(strings.TrimSuffix(rest, ">"))
}

// at returns the path that a directory's descriptor and a name mean.
func at(dir, name string) string {
	path := plain(strings.Trim(name, `"`))
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	_, in := fd(dir)
	return filepath.Join(in, path)
}

type opened struct {
	f      *file
	path   string
	offset int64
	add    bool // it appends
}

// machine is a disk and the program that runs on it.
type machine struct {
	*disk
	dir    string
	forget string
	open   map[int]*opened
	said   strings.Builder
}

func (m *machine) below(path string) bool {
	return path == m.dir || strings.HasPrefix(path, m.dir+"/")
}

// step applies a call, and reports whether that changed anything.
func (m *machine) step(l line) (changed bool) {
	if strings.HasPrefix(l.result, "-") || strings.HasPrefix(l.result, "?") {
		return false
	}
	a := fields(l.args)
	result, _ := fd(strings.Fields(l.result)[0])
	switch l.call {
	case "open", "openat":
		if l.call == "open" {
			a = append([]string{"AT_FDCWD</>"}, a...)
		}
		path := at(a[0], a[1])
		_, real := fd(l.result)
		if real != "" && !strings.HasSuffix(real, "(deleted)") {
			path = real
		}
		return m.opens(result, path, a[2:])
	case "close":
		n, _ := fd(a[0])
		delete(m.open, n)
	case "write", "pwrite64":
		return m.writes(l.call, a, result)
	case "lseek":
		n, _ := fd(a[0])
		if o := m.open[n]; o != nil {
			o.offset = int64(result)
		}
	case "ftruncate":
		n, _ := fd(a[0])
		size, _ := strconv.ParseInt(a[1], 0, 64)
		if o := m.open[n]; o != nil {
			o.f.pending = append(o.f.pending, change{at: size})
			return true
		}
	case "fsync", "fdatasync":
		n, _ := fd(a[0])
		o := m.open[n]
		if o == nil {
			return false
		}
		if o.f.dir {
			if m.forget != "fsync of directories" {
				m.syncNames(o.path)
			}
		} else if m.forget != "fsync of files" {
			o.f.sync()
		}
		return true
	case "rename":
		return m.renames(at("AT_FDCWD</>", a[0]), at("AT_FDCWD</>", a[1]))
	case "renameat", "renameat2":
		return m.renames(at(a[0], a[1]), at(a[2], a[3]))
	case "link":
		return m.links(at("AT_FDCWD</>", a[0]), at("AT_FDCWD</>", a[1]))
	case "linkat":
		return m.links(at(a[0], a[1]), at(a[2], a[3]))
	case "unlink", "rmdir":
		return m.removes(at("AT_FDCWD</>", a[0]))
	case "unlinkat":
		return m.removes(at(a[0], a[1]))
	case "mkdir":
		return m.makes(at("AT_FDCWD</>", a[0]))
	case "mkdirat":
		return m.makes(at(a[0], a[1]))
	}
	return false
}

func (m *machine) opens(n int, path string, flags []string) (changed bool) {
	if !m.below(path) {
		delete(m.open, n)
		return false
	}
	has := func(flag string) bool { return strings.Contains(flags[0], flag) }
	f := m.names[path]
	if f == nil {
		if !has("O_CREAT") {
			delete(m.open, n)
			return false
		}
		mode := uint64(0o600)
		if len(flags) > 1 {
			mode, _ = strconv.ParseUint(flags[1], 8, 32)
		}
		f = &file{mode: fs.FileMode(mode)}
		m.change(naming{name: path, of: f})
		changed = true
	} else if has("O_TRUNC") && len(f.now()) > 0 {
		f.pending = append(f.pending, change{})
		changed = true
	}
	m.open[n] = &opened{f: f, path: path, add: has("O_APPEND")}
	return changed
}

func (m *machine) writes(call string, a []string, n int) (changed bool) {
	number, _ := fd(a[0])
	data := []byte(plain(strings.Trim(a[1], `"`)))
	if n < len(data) {
		data = data[:n]
	}
	if number == 1 {
		m.said.Write(data)
		return true
	}
	o := m.open[number]
	if o == nil || o.f.dir {
		return false
	}
	where := o.offset
	switch {
	case call == "pwrite64":
		where, _ = strconv.ParseInt(a[3], 0, 64)
	case o.add:
		where = int64(len(o.f.now()))
		fallthrough
	default:
		o.offset = where + int64(len(data))
	}
	o.f.pending = append(o.f.pending, change{where, append([]byte{}, data...)})
	return true
}

func (m *machine) renames(from, to string) bool {
	f := m.names[from]
	if f == nil || !m.below(to) {
		return false
	}
	if f.dir { // everything below it moves with it
		for name, one := range m.names {
			if rest, ok := strings.CutPrefix(name, from+"/"); ok {
				m.change(naming{gone: name, name: to + "/" + rest, of: one})
			}
		}
	}
	m.change(naming{gone: from, name: to, of: f})
	for _, o := range m.open {
		if o.path == from {
			o.path = to
		}
	}
	return true
}

func (m *machine) links(from, to string) bool {
	f := m.names[from]
	if f == nil || !m.below(to) {
		return false
	}
	m.change(naming{name: to, of: f})
	return true
}

func (m *machine) removes(path string) bool {
	if m.names[path] == nil {
		return false
	}
	m.change(naming{gone: path})
	return true
}

func (m *machine) makes(path string) bool {
	if !m.below(path) {
		return false
	}
	m.change(naming{name: path, of: &file{dir: true, mode: 0o700}})
	return true
}

// Replay cuts the power behind each call that changed something, so many times, and once only kills
// the program there. It gives each resulting disk to check, in a directory of its own, with what
// the program had written to its standard output by then. It returns the number of disks, and the
// errors of check.
func (tr *Trace) Replay(t testing.TB, seeds int, check func(dir, said string) error) (disks int, wrong []error) {
	t.Helper()
	begin, err := tr.begin()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{disk: begin, dir: tr.dir, forget: tr.Forget, open: map[int]*opened{}}
	root, changes := t.TempDir(), 0
	for i, l := range tr.lines {
		if !m.step(l) {
			continue
		}
		if changes++; changes%max(1, tr.Every) != 0 {
			continue
		}
		for seed := range seeds + 1 {
			to := filepath.Join(root, "disk")
			if err := os.Mkdir(to, 0o700); err != nil {
				t.Fatal(err)
			}
			var err error
			if seed == 0 {
				err = m.killed(tr.dir, to)
			} else {
				err = m.cut(tr.dir, to, rand.New(rand.NewPCG(uint64(i), uint64(seed))))
			}
			if err != nil {
				t.Fatal(err)
			}
			disks++
			if err := check(to, m.said.String()); err != nil {
				wrong = append(wrong, fmt.Errorf("power cut behind call %d (%s, seed %d): %w", i, l.call, seed, err))
			}
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
		}
	}
	return disks, wrong
}

// Holds replays a trace, and fails the test for wrong disks. It also fails the test if the check
// would not notice a program that leaves a sync out; that only if the power is cut behind each
// change.
func (tr *Trace) Holds(t *testing.T, seeds int, check func(dir, said string) error) {
	t.Helper()
	disks, wrong := tr.Replay(t, seeds, check)
	for _, err := range wrong[:min(len(wrong), 5)] {
		t.Error(err)
	}
	t.Logf("%d disks, %d wrong", disks, len(wrong))
	if disks < 20 {
		t.Errorf("%d disks prove nothing", disks)
	}
	if tr.Every > 1 {
		return
	}
	for _, forget := range []string{"fsync of files", "fsync of directories"} {
		tr.Forget = forget
		_, wrong := tr.Replay(t, seeds, check)
		t.Logf("without %s: %d wrong", forget, len(wrong))
		if len(wrong) == 0 {
			t.Errorf("without %s nothing is found wrong: this proves nothing", forget)
		}
	}
	tr.Forget = ""
}
