package link

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A computer is called as its person spells it, which is its token in letters of either case: not with others that look
// or fold like those.
func TestDirectory_N6_howAComputerIsCalled(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := directory{"raspi": {Name: "raspi"}}
	for i, name := range []string{"RASPI", "ra\u017fpi", "", "raspi ", "other", "\x1b]0;x\a"} {
		now = now.Add(time.Second)
		d.heard("raspi", presence{Name: name, Boot: "1", Sent: now}, now)
		assert.Equal(t, "RASPI", d["raspi"].Name, "%d: %q", i, name)
	}
}
