package process

import (
	"fmt"
	"os"
	"strings"
)

// OurNumbers is how we number processes. A sandbox may hide it.
func OurNumbers() (n Numbers, err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil {
		n.Boot = strings.TrimSpace(string(boot))
		n.Space, err = os.Readlink("/proc/self/ns/pid")
	}
	if err != nil {
		return Numbers{}, fmt.Errorf("how processes are numbered: %w", err)
	}
	return n, nil
}
