package process

import (
	"fmt"
	"os"
	"strings"
)

// OurNumbers returns the space of our process numbers. A sandbox may hide it.
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
