package process

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lineage returns a process and its ancestors, itself first, up to the first process of the system.
// server is the pid of the tmux server whose panes count. If the process has ended, the error is
// ErrNoProcess.
func Lineage(pid, server int) ([]Relative, error) {
	s, err := readStat(pid)
	if err != nil {
		return nil, err
	}
	var line []Relative
	for len(line) < 1000 { // parents may change meanwhile: no endless walk
		line = append(line, s.relative(server))
		if s.Parent <= 0 {
			return line, nil
		}
		if s, err = readStat(s.Parent); err != nil {
			return line, err
		}
	}
	return line, nil
}

func (s stat) relative(server int) Relative {
	r := Relative{Process: s.Process, Parent: s.Parent, Leader: s.session, Terminal: s.tty != 0}
	if words := Arguments(s.PID); len(words) > 0 {
		r.Shell = r.Terminal && interactive(words) && readsTerminal("/proc/"+strconv.Itoa(s.PID), s.tty)
	}
	if env, ok := Environment(s.PID, "TMUX", "TMUX_PANE"); ok {
		r.Pane = startedIn(env, server)
	}
	return r
}

// startedIn returns the pane that an environment names, or "" if the pane is of another tmux
// server: TMUX is PATH,PID,SESSION.
func startedIn(env map[string]string, server int) (pane string) {
	fields := strings.Split(env["TMUX"], ",")
	if n := len(fields); n >= 3 && fields[n-2] != strconv.Itoa(server) {
		return ""
	}
	return env["TMUX_PANE"]
}

// shells are the programs into which a person types commands, by their names.
var shells = []string{
	"sh", "bash", "rbash", "dash", "ash", "busybox", "zsh", "rzsh", "fish", "ksh", "ksh93", "mksh", "oksh", "loksh", "pdksh", "yash", "posh",
	"csh", "tcsh", "nu", "elvish", "ion", "pwsh", "murex", "osh", "ysh",
}

// interactive reports whether a command line is that of a shell with neither a command nor a
// script, so that it reads only what is typed to it.
func interactive(words []string) bool {
	name := strings.TrimPrefix(path.Base(words[0]), "-")
	if !slices.Contains(shells, name) {
		return false
	}
	words = words[1:]
	if name == "busybox" && len(words) > 0 {
		words = words[1:] // the applet; an applet that is no shell has no terminal to read commands from
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--rcfile" || word == "--init-file" || word == "-o" || word == "+o" || word == "-O" || word == "+O":
			i++
		case strings.HasPrefix(word, "--command") || strings.HasPrefix(word, "--eval") || strings.HasPrefix(word, "--execute"):
			return false
		case strings.HasPrefix(word, "--"):
		case len(word) < 2 || word[0] != '-' && word[0] != '+', strings.ContainsAny(word, "ceC"):
			return false
		}
	}
	return true
}

// readsTerminal reports whether the standard input of a process is its controlling terminal.
func readsTerminal(dir string, tty uint64) bool {
	var st unix.Stat_t
	return unix.Stat(dir+"/fd/0", &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && uint64(st.Rdev) == tty
}
