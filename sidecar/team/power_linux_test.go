package team

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// After a power cut, what a program was told is in an inbox is there, whole. What was drained by a program that
// knew so is not there again, and the team goes on.
func TestD2_P30_powerCutWhileATeamWrites(t *testing.T) {
	if dir := os.Getenv("INTERCOM_TEST_POWER"); dir != "" {
		writeUntilTheCut(Dir{dir})
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestD2_P30_powerCutWhileATeamWrites$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_POWER="+dir)
	trace := powercuttest.Record(t, dir, cmd)
	if os.Getenv("INTERCOM_LONG") == "" {
		trace.Every = 4
	}
	trace.Holds(t, 3, func(dir, said string) error {
		d := Dir{dir}
		// Its name stands there as often as lines of it have to be there at least.
		if strings.Contains(said, "enlisted\n") {
			c, err := d.Config()
			if err != nil || len(c.Members) != 1 || c.Members[0].Name != "alice" {
				return fmt.Errorf("alice was enlisted, and is not there: %+v %w", c, err)
			}
		}
		for n := range 4 {
			sent := strings.Contains(said, fmt.Sprintf("sent %d\n", n))
			if !sent || n < 2 && strings.Contains(said, "draining\n") {
				continue
			}
			if all, _, err := d.Peek("alice"); err != nil || strings.Count(contents(all), fmt.Sprintf("<%d>", n)) != 1 {
				all, wrong, again := d.drained("alice")
				if strings.Count(contents(all), fmt.Sprintf("<%d>", n)) != 1 {
					return fmt.Errorf("message %d was sent, and is not there once: %s %d %w %w", n, contents(all), wrong, err, again)
				}
			}
		}
		if strings.Contains(said, "drained\n") {
			if all, _, err := d.Peek("alice"); err != nil || strings.Contains(contents(all), "<0>") {
				return fmt.Errorf("message 0 was drained, and is there: %s %w", contents(all), err)
			}
		}
		if strings.Contains(said, "enlisted\n") {
			if err := d.Send("alice", Message{Type: "message", From: "lead", Content: "next", At: noon}); err != nil {
				return fmt.Errorf("it does not go on: %w", err)
			}
		}
		return nil
	})
}

func (d Dir) drained(name string) (all []Message, wrong int, err error) {
	wrong, err = d.Drain(name, func(m []Message) error { all = m; return nil })
	return all, wrong, err
}

func contents(all []Message) string {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.Content)
	}
	return strings.Join(texts, " ")
}

// writeUntilTheCut does what a team does, and prints what it was told is done.
func writeUntilTheCut(d Dir) {
	say := func(err error, format string, args ...any) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf(format+"\n", args...)
	}
	send := func(n int) {
		text := fmt.Sprintf("<%d>%s", n, strings.Repeat("x", 700))
		say(d.Send("alice", Message{Type: "message", From: "lead", Content: text, At: noon}), "sent %d", n)
	}
	say(d.Make(), "made")
	say(d.Enlist("alice", "dev"), "enlisted")
	send(0)
	send(1)
	fmt.Println("draining")
	_, err := d.Drain("alice", func([]Message) error { return nil })
	say(err, "drained")
	send(2)
	send(3)
	os.Exit(0)
}
