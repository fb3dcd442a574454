package labtest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// processes lists all running processes, and marks those that have a variable in their environment.
func processes(variable string) (all []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return listedProcesses()
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // the process has ended
		}
		// pid (name) state ppid pgrp session …, and the 22nd field is the start; a name may contain anything.
		at := strings.LastIndexByte(string(stat), ')')
		words := strings.Fields(string(stat)[at+1:])
		if at < 0 || len(words) < 20 {
			continue
		}
		p := process{pid: pid, started: words[19], zombie: words[0] == "Z" || words[0] == "X"}
		p.parent, _ = strconv.Atoi(words[1])
		p.session, _ = strconv.Atoi(words[3])
		if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			p.ours = slices.Contains(strings.Split(string(environ), "\x00"), variable)
		}
		all = append(all, p)
	}
	return all
}
