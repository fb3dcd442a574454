package labtest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// process is what has to be known of one to tell whose it is.
type process struct {
	pid, parent, session int
	started              string // when, in words of the system; empty if it does not say
	zombie               bool
	ours                 bool // it has the home of the agent in its environment
}

// Processes are the agent's processes that still run: those of its pane's session, those
// below them, and those that have its home, whoever their parent is by now. In a home that
// others share, its directory for temporary files is what tells.
func (a *Agent) Processes() []int {
	mark := "HOME=" + a.Home
	if a.shared {
		mark = "TMPDIR=" + a.tmp
	}
	all := processes(mark)
	// A pid that has gone to somebody else is no longer the agent's, and neither is the
	// session of that name.
	session := a.PID
	for _, p := range all {
		if p.pid == a.PID && p.started != a.started {
			session = -1
		}
	}
	var found []int
	for more := true; more; {
		more = false
		for _, p := range all {
			if p.zombie || slices.Contains(found, p.pid) {
				continue
			}
			if p.ours || p.pid == session || p.session == session || slices.Contains(found, p.parent) {
				found = append(found, p.pid)
				more = true
			}
		}
	}
	return found
}

// listedProcesses asks ps, where there is no /proc.
func listedProcesses() (all []process) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,sess=,stat=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 4 {
			continue
		}
		var p process
		p.pid, _ = strconv.Atoi(words[0])
		p.parent, _ = strconv.Atoi(words[1])
		p.session, _ = strconv.Atoi(words[2])
		p.zombie = strings.HasPrefix(words[3], "Z")
		all = append(all, p)
	}
	return all
}
