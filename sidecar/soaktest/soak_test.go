package soaktest_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// A long run of the program under faults, and a report about it. INTERCOM_SOAK is its length, such
// as 1h; INTERCOM_SOAK_RATE is the number of messages a second; INTERCOM_SOAK_REPORT is the file of
// the report.
func TestD6_Soak(t *testing.T) {
	if os.Getenv("INTERCOM_SOAK") == "" && os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("make soak runs it for an hour, make soak SOAK=10m for ten minutes, make long too")
	}
	length, err := time.ParseDuration(cmp.Or(os.Getenv("INTERCOM_SOAK"), "10m"))
	require.NoError(t, err)
	rate, err := strconv.ParseFloat(cmp.Or(os.Getenv("INTERCOM_SOAK_RATE"), "20"), 64)
	require.NoError(t, err)
	if apart(t) {
		return
	}
	w := newWorld(t, length, rate)
	page := w.run(t.Context())
	fmt.Println(page)
	report := cmp.Or(os.Getenv("INTERCOM_SOAK_REPORT"), filepath.Join(os.TempDir(), "intercom-soak.md"))
	require.NoError(t, os.WriteFile(report, []byte(page), 0o644))
	t.Logf("the report is in %s", report)
	if len(w.found) > 0 {
		t.Errorf("%d findings: see %s; the files of the run are in %s", len(w.found), report, w.dir)
	}
}

// apart runs the test in a mount namespace of its own, if the system allows that: one of its file
// systems will become full. It reports whether it did.
func apart(t *testing.T) bool {
	if os.Getenv("INTERCOM_SOAK_APART") != "" {
		return false
	}
	flags := "-m"
	if os.Getuid() != 0 {
		flags = "-Urm"
	}
	if err := exec.Command("unshare", flags, "true").Run(); err != nil {
		t.Logf("no disk becomes full: unshare %s: %v", flags, err) // the page says so, and make soak does not forgive it
		return false
	}
	cmd := exec.CommandContext(t.Context(), "unshare", flags, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "INTERCOM_SOAK_APART=yes")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	require.NoError(t, cmd.Run())
	return true
}

// run sends for the whole time, under faults, waits until everything is at rest, and judges.
func (w *world) run(ctx context.Context) string {
	w.begun = time.Now()
	sending, enough := context.WithTimeout(ctx, w.length)
	defer enough()
	var senders, others sync.WaitGroup
	for _, s := range w.senders() {
		senders.Go(func() { s.run(sending, w) })
	}
	looking, look := context.WithCancel(ctx)
	others.Go(func() { w.watch(looking) })
	others.Go(func() { w.follow(looking) })
	others.Go(func() { w.port.read(looking) })
	senders.Go(func() { w.legislate(sending) })
	senders.Go(func() { w.faults(sending) })
	senders.Wait()
	w.rest(ctx)
	w.ended = time.Now()
	look()
	others.Wait()
	w.attached()
	h := w.history(ctx)
	w.found = append(w.found, soaktest.Judge(h)...)
	var page bytes.Buffer
	soaktest.Report(&page, soaktest.Run{Begun: w.begun, Ended: w.ended, Rate: w.rate, About: w.about(), Faults: w.made, NotMade: w.notMade}, h, w.found)
	return page.String()
}
