package labtest

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// process has the facts that tell to which agent a process belongs.
type process struct {
	pid, parent, session int
	started              string // start time in the system's form; empty if not known
	zombie               bool
	ours                 bool // its environment has the agent's home, or its TMPDIR if the home is shared
}

// Processes returns the pids of the agent's running processes: those of its pane's session, their descendants, and
// those with its home in their environment, whoever their parent is now. If the home is shared, the agent's TMPDIR
// identifies them instead.
func (a *Agent) Processes() []int {
	mark := "HOME=" + a.Home
	if a.shared {
		mark = "TMPDIR=" + a.tmp
	}
	all := processes(mark)
	// If the pid now belongs to another process, the session of that number is not the agent's any more either.
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

// listedProcesses uses ps, for systems without /proc.
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
