package relay

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ids makes UUIDv7 from a given time and a seeded source, so that a Step can be replayed. Each is
// greater than the one before it, even when the clock goes back.
type ids struct {
	random *rand.ChaCha8
	last   uint64 // milliseconds since 1970 in the upper 52 bits, 1/4096 of one in the lower 12
}

func (g *ids) next(now time.Time) message.ID {
	ns := uint64(max(now.UnixNano(), 0))
	stamp := ns/1e6<<12 | ns%1e6<<12/1e6
	if stamp <= g.last {
		stamp = g.last + 1
	}
	g.last = stamp
	ms, part, r := stamp>>12, stamp&0xfff, g.random.Uint64()
	return message.ID(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x",
		ms>>16&0xffffffff, ms&0xffff, 0x7000|part, 0x8000|r>>50, r&(1<<48-1)))
}

// promptID returns the id under which the prompt of a turn is passed on. It has the time of the
// turn, and is the same however often the turn is reported.
func promptID(turn message.ID) message.ID { return derivedID("prompt of ", turn) }

// copyID returns, in the same way, the id under which the words of a turn go to one more chat.
func copyID(turn, chat message.ID) message.ID { return derivedID("for "+string(chat)+": ", turn) }

func derivedID(what string, turn message.ID) message.ID {
	id, err := message.ParseID(string(turn))
	if err != nil {
		id = turn
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(what+string(id))))
	stamp := sum[:8] + "-" + sum[8:12] + "-7" + sum[12:15]
	if err == nil {
		stamp = string(id[:18])
	}
	return message.ID(stamp + "-8" + sum[16:19] + "-" + sum[20:32])
}
