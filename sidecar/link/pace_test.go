package link

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// reads returns how many messages of that size a reader with nothing else to do reads from some computers in a
// time.
func reads(c *costs, tokens []string, bytes int, during time.Duration) (n int) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for now := began; now.Sub(began) < during; {
		next := began.Add(during)
		for _, token := range tokens {
			at := c.read(token, bytes, now)
			n++
			if at.Before(next) {
				next = at
			}
		}
		now = next
	}
	return n
}

// N7: of a computer that sends without end, so much is read at once and then so much per second, whatever else
// there is to read. A long message counts as several. Many such computers together get no more than three of
// them.
func TestN7_MailIsReadAtAPace(t *testing.T) {
	t.Parallel()
	const seconds = 100
	usual := pace{mailRate, mailBurst}
	assert.InDelta(t, mailBurst+seconds*mailRate, reads(&costs{pace: usual}, []string{"loud"}, 100, seconds*time.Second), 2)
	units := 1 + (1<<20)/mailUnit
	assert.InDelta(t, (mailBurst+seconds*mailRate)/units, reads(&costs{pace: usual}, []string{"loud"}, 1<<20, seconds*time.Second), 2)
	var many []string
	for i := range 10 {
		many = append(many, fmt.Sprint("loud", i))
	}
	together := mailShares * (mailBurst + seconds*mailRate)
	assert.InDelta(t, together, reads(&costs{pace: usual}, many, 100, seconds*time.Second), float64(len(many)))

	c := &costs{pace: usual}
	reads(c, many, 100, seconds*time.Second)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(seconds * time.Second)
	assert.Less(t, c.read("quiet", 100, now).Sub(now), time.Second, "its next one waits for the pace of all, and no longer")
}

// All mail under names of unknown computers shares one pace, however many names there are.
func TestN7_StrangersHaveOnePace(t *testing.T) {
	t.Parallel()
	now := time.Now()
	turns := newTurns(func(subject string) bool { return subject == "known" })
	for i := range 10 {
		turns.ring(fmt.Sprint("invented", i))
	}
	turns.ring("known")
	taken := turns.round(now)
	assert.Len(t, taken, 2, "%v", taken)
	for _, subject := range taken {
		turns.again(subject, now.Add(time.Minute))
	}
	assert.Empty(t, turns.round(now.Add(time.Second)))
	assert.Equal(t, now.Add(time.Minute), turns.next(now.Add(time.Hour)))
	assert.Len(t, turns.round(now.Add(time.Minute)), 2)
}
