package link

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/powercuttest"
)

// The link's own files are whole after a power cut: this computer goes on with the key with which it has
// signed, and a computer that it has known is recognised by its key.
func TestD2_powerCutBeneathTheLink(t *testing.T) {
	if dir := os.Getenv("INTERCOM_TEST_POWER"); dir != "" {
		linkUntilTheCut(dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestD2_powerCutBeneathTheLink$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_POWER="+dir)
	trace := powercuttest.Record(t, dir, cmd)
	trace.Holds(t, 10, func(dir, said string) error {
		id, err := loadIdentity(dir + "/link")
		if err != nil {
			return err
		}
		if _, was, ok := strings.Cut(said, "key "); ok {
			if was, _, _ = strings.Cut(was, "\n"); was != id.public {
				return fmt.Errorf("it signed as %s, and goes on as %s", was, id.public)
			}
		}
		d, err := recollect(dir + "/link")
		if err != nil {
			return err
		}
		for n := range 3 {
			token := fmt.Sprint("computer", n)
			if k := d[token]; strings.Contains(said, fmt.Sprintf("saved %d\n", n)) && (k == nil || k.Key != "key of "+token) {
				return fmt.Errorf("%s was known, and is %+v", token, k)
			}
		}
		l := &Link{Dir: dir + "/link"}
		l.init()
		l.known, l.news = d, true
		return l.save(true)
	})
}

// linkUntilTheCut does what a link does with its files, and prints what is done.
func linkUntilTheCut(dir string) {
	done := func(err error, format string, args ...any) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf(format+"\n", args...)
	}
	dir += "/link"
	id, err := loadIdentity(dir)
	done(err, "key %s", id.public)
	l := &Link{Dir: dir}
	l.init()
	for n := range 3 {
		token := fmt.Sprint("computer", n)
		l.known[token] = &known{Name: token, Key: "key of " + token, Seen: time.Unix(1, 0), Sessions: []Session{{Name: strings.Repeat("x", 900)}}}
		l.news = true
		done(l.save(true), "saved %d", n)
	}
	os.Exit(0)
}
