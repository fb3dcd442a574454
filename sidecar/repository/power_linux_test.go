package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// After a power cut, what a person enabled and what a sender was told is sent is there, whole. Of the rest
// nothing is there in part, and the repository goes on. (The ledger ensures that a lost marker is made again
// and that nothing is done twice: see TestA58_killedAtEverySystemCall and the tests of the ledger.)
func TestD2_A58_powerCutBeneathARepository(t *testing.T) {
	const repo = "/somewhere/repo" // as the person's list knows it
	if dir := os.Getenv("INTERCOM_TEST_POWER"); dir != "" {
		sendUntilTheCut(dir, repo)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestD2_A58_powerCutBeneathARepository$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_POWER="+dir)
	trace := powercuttest.Record(t, dir, cmd)
	if os.Getenv("INTERCOM_LONG") == "" {
		trace.Every = 8
	}
	trace.Holds(t, 2, func(dir, said string) error {
		if _, ok := EnabledIn(filepath.Join(dir, "state", "intercom")).Find(repo); !ok && strings.Contains(said, "enabled\n") {
			return fmt.Errorf("it was enabled, and is not")
		}
		if !strings.Contains(said, "made\n") {
			return nil
		}
		d, err := Open(dir)
		if err != nil {
			return err
		}
		entries, err := d.List()
		if err != nil {
			return err
		}
		var all []string
		for _, e := range entries {
			m, _, err := d.Read(e.Name)
			if err != nil {
				return fmt.Errorf("%s is there in part: %w", e.Name, err)
			}
			all = append(all, m.Body)
		}
		for n := range 4 {
			body := sentBody(n)
			if strings.Contains(said, fmt.Sprintf("sent %d\n", n)) && strings.Count(strings.Join(all, " "), body) != 1 {
				return fmt.Errorf("message %d was sent, and is not there", n)
			}
		}
		_, err = d.Put(powerLetter(9), "")
		return err
	})
}

func sentBody(n int) string { return fmt.Sprintf("<%d>%s", n, strings.Repeat("x", 700)) }

func powerLetter(n int) aea.Message {
	return aea.Message{ID: fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", n), Type: "update", Priority: "normal", Time: at, From: aea.Agent{ID: "claude-a", Path: "/a"}, To: aea.Agent{ID: "claude-b", Path: "/b"}, Subject: "s", Body: sentBody(n)}
}

func sendUntilTheCut(dir, repo string) {
	say := func(err error, format string, args ...any) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf(format+"\n", args...)
	}
	d, _, err := Install(dir, "/bin/true", false)
	say(err, "made")
	say(EnabledIn(filepath.Join(dir, "state", "intercom")).Set(Wish{Path: repo, Agent: "claude-repo", Since: at}), "enabled")
	for n := range 4 {
		name, err := d.Put(powerLetter(n), "")
		say(err, "sent %d", n)
		if n%2 == 0 {
			say(d.Mark(name), "marked %d", n)
		}
	}
	os.Exit(0)
}
