package atomicfile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// For everything that is kept in whole files, such as the link's store, AEA's ledgers, registry and
// answers, and the config of a team: after a power cut there is the old content or the new one, and
// content is there for good once Write or Create has returned.
func TestD2_powerCutWhileFilesAreWritten(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("<%d>%s", n, strings.Repeat("x", 1500)) }
	if dir := os.Getenv("INTERCOM_TEST_POWER"); dir != "" {
		for n := range 4 {
			if err := atomicfile.Write(filepath.Join(dir, "file"), []byte(text(n)), 0o600); err != nil {
				os.Exit(1)
			}
			fmt.Println("wrote", n)
			if err := atomicfile.Create(filepath.Join(dir, fmt.Sprint("new", n)), []byte(text(n)), 0o600); err != nil {
				os.Exit(1)
			}
			fmt.Println("created", n)
		}
		os.Exit(0)
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestD2_powerCutWhileFilesAreWritten$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_POWER="+dir)
	powercuttest.Record(t, dir, cmd).Holds(t, 4, func(dir, said string) error {
		last := -1
		for n := range 4 {
			if strings.Contains(said, fmt.Sprintf("wrote %d\n", n)) {
				last = n
			}
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("new", n)))
			if err == nil && string(data) != text(n) {
				return fmt.Errorf("new%d is there in part: %.20q", n, data)
			}
			if err != nil && strings.Contains(said, fmt.Sprintf("created %d\n", n)) {
				return err
			}
		}
		data, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil && last < 0 {
			return nil
		}
		for n := max(0, last); n < 4; n++ {
			if string(data) == text(n) {
				return nil
			}
		}
		return fmt.Errorf("%d was written, and there is %.20q: %w", last, data, err)
	})
}
