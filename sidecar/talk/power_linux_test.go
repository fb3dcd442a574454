package talk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// After a power cut, every message that a sender was told is stored is in the inbox, whole and once, unless
// somebody has taken it. Cleared messages do not come back, and the port goes on.
func TestD2_K48_powerCutBeneathAPort(t *testing.T) {
	if dir := os.Getenv("INTERCOM_TEST_POWER"); dir != "" {
		storeUntilTheCut(homeIn(dir))
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestD2_K48_powerCutBeneathAPort$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_POWER="+dir)
	trace := powercuttest.Record(t, dir, cmd)
	if os.Getenv("INTERCOM_LONG") == "" {
		trace.Every = 4
	}
	trace.Holds(t, 3, func(dir, said string) error {
		if !strings.Contains(said, "ready\n") {
			return nil
		}
		p := homeIn(dir).Port(9000)
		a := appenderOf(p)
		defer a.close()
		if err := a.open(); err != nil {
			return fmt.Errorf("it does not go on: %w", err)
		}
		if _, err := a.append([][]byte{lineOf("next")}); err != nil {
			return fmt.Errorf("it does not go on: %w", err)
		}
		var all []string
		if err := checked(p, CheckOptions{}, &all); err != nil {
			return err
		}
		text := strings.Join(all, " ")
		for n := range 6 {
			times := strings.Count(text, fmt.Sprintf("<%d>", n))
			told, clearing, cleared := strings.Contains(said, fmt.Sprintf("stored %d\n", n)), strings.Contains(said, "clearing\n"), strings.Contains(said, "cleared\n")
			if n > 1 {
				clearing, cleared = false, false
			}
			switch {
			case times > 1:
				return fmt.Errorf("message %d is there %d times", n, times)
			case told && times == 0 && !clearing:
				return fmt.Errorf("message %d was stored, and is not there: %s", n, text)
			case cleared && times > 0:
				return fmt.Errorf("message %d was cleared, and is there", n)
			}
		}
		return nil
	})
}

func homeIn(dir string) Home { return Home{Dir: dir + "/.ai-talk", Claims: dir + "/claims"} }

func appenderOf(p Port) *appender {
	return &appender{path: p.Inbox(), callback: p.Callback(), most: 100, sync: true}
}

func lineOf(text string) []byte {
	return Message{Timestamp: "2026-03-04T05:06:07Z", Sender: 9001, Text: text}.appendLine(nil)
}

func checked(p Port, o CheckOptions, all *[]string) error {
	return p.Check(o, func(m []Message) error { *all = texts(m); return nil })
}

func storeUntilTheCut(h Home) {
	say := func(err error, format string, args ...any) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf(format+"\n", args...)
	}
	p := h.Port(9000)
	say(errors.Join(private(h.Dir), private(p.path(""))), "directories")
	a := appenderOf(p)
	say(a.open(), "ready")
	store := func(n int) {
		_, err := a.append([][]byte{lineOf(fmt.Sprintf("<%d>%s", n, strings.Repeat("x", 700)))})
		say(err, "stored %d", n)
	}
	for n := range 4 {
		store(n)
	}
	fmt.Println("clearing")
	var all []string
	say(checked(p, CheckOptions{Clear: true, Limit: 2}, &all), "cleared")
	store(4)
	store(5)
	os.Exit(0)
}
