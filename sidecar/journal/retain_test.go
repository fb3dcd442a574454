package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A clock that leaps ahead may be wrong, and pruning by it would delete the whole history: it is
// believed once it has kept to its time for a day.
func TestRetained_at(t *testing.T) {
	t.Parallel()
	at := func(days float64) time.Time { return testTime.Add(time.Duration(days * float64(day))).UTC() }
	for name, c := range map[string]struct {
		was      retained
		now      float64
		believed bool
		next     retained
	}{
		"an empty journal":                {retained{}, 0, true, retained{Last: at(0)}},
		"an hour later":                   {retained{Last: at(-0.04)}, 0, true, retained{Last: at(0)}},
		"a week off":                      {retained{Last: at(-7)}, 0, true, retained{Last: at(0)}},
		"a year ahead":                    {retained{Last: at(-365)}, 0, false, retained{Last: at(-365), Doubted: at(0)}},
		"still so, an hour later":         {retained{Last: at(-365), Doubted: at(-0.04)}, 0, false, retained{Last: at(-365), Doubted: at(-0.04)}},
		"still so, a day later":           {retained{Last: at(-366), Doubted: at(-1)}, 0, true, retained{Last: at(0)}},
		"it was wrong, and is set":        {retained{Last: at(-0.1), Doubted: at(365)}, 0, true, retained{Last: at(0)}},
		"it was wrong, and we were off":   {retained{Last: at(-30), Doubted: at(365)}, 0, false, retained{Last: at(-30), Doubted: at(0)}},
		"it ran ahead longer than a day":  {retained{Last: at(365)}, 0, true, retained{Last: at(0)}},
		"doubted long ago, and seldom on": {retained{Last: at(-365), Doubted: at(-300)}, 0, true, retained{Last: at(0)}},
	} {
		next, believed := c.was.at(at(c.now))
		assert.Equal(t, c.believed, believed, name)
		assert.Equal(t, c.next, next, name)
	}
}

// If the journal was never pruned, as in a journal of an older version, entries of this run by a
// clock that has leapt do not vouch for that clock: it is doubted for a day, and entries that are
// not old by the right clock stay.
func TestRetain_theFirstTimeAfterALeap(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, private(t))
	fill(t, j, 10, testTime.Add(-100*day), testTime.Add(-95*day))
	fill(t, j, 10, testTime.Add(-20*day), testTime)
	ahead := testTime.Add(365 * day)
	commitAt(t, j, ahead, message.Step{Notices: []message.Notice{{Text: "adopted"}}})
	for i, c := range []struct {
		now  time.Time
		goes int
	}{
		{ahead.Add(time.Minute), 0},
		{ahead.Add(time.Hour), 0},
		{testTime.Add(time.Hour), 0}, // the clock is set
		{testTime.Add(25 * time.Hour), 10},
		{testTime.Add(26 * time.Hour), 0},
	} {
		pruned, err := j.Retain(t.Context(), Retention{}, 0, c.now)
		require.NoError(t, err)
		assert.Equal(t, c.goes, pruned.Messages, "run %d", i)
	}
}

// The doubt survives the process, and so does the time of the last run.
func TestRetain(t *testing.T) {
	t.Parallel()
	dir := private(t)
	j := mustOpen(t, dir)
	fill(t, j, 10, testTime.Add(-10*day), testTime)
	commitAt(t, j, testTime, message.Step{Notices: []message.Notice{{Text: "today"}}})
	year := testTime.Add(365 * day)
	for i, c := range []struct {
		now   time.Time
		every time.Duration
		goes  int
	}{
		{year, 0, 0},
		{year.Add(time.Hour), 0, 0},
		{year.Add(day), day, 10},
		{year.Add(day + time.Hour), day, 0}, // just done
		{year.Add(day + time.Hour), 0, 1},
	} {
		what := fmt.Sprint("run ", i)
		pruned, err := j.Retain(t.Context(), Retention{}, c.every, c.now)
		require.NoError(t, err, what)
		assert.Equal(t, c.goes, pruned.Messages, what)
		if i == 2 {
			fill(t, j, 1, testTime, testTime)
			commitAt(t, j, c.now, message.Step{Notices: []message.Notice{{Text: "then"}}})
		}
		require.NoError(t, j.Close())
		j = mustOpen(t, dir)
	}
}
