package agent

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Fifth is an agent that exists for a test alone.
const Fifth Kind = "fifth"

func init() {
	register(Fifth, format{
		npm:       "the-fifth-agent",
		variables: []string{"FIFTH_HOME"},
		home: func(env map[string]string) string {
			return cmp.Or(env["FIFTH_HOME"], filepath.Join(env["HOME"], ".fifth"))
		},
		desk:   func(a Agent, _ *Transcript) string { return filepath.Join(a.Home, deskName) },
		parser: func() parser { return parse(fifthRecord) },
		ask: func(f *Follower) (Transcript, error) {
			for _, pid := range f.Agent.Tried {
				name := strconv.Itoa(pid)
				path := filepath.Join(f.Agent.Home, "talks", name+".jsonl")
				if file, err := foreign.Open(path); err == nil {
					return Transcript{Path: path, Thread: name, How: ByStatusFile}, file.Close()
				}
			}
			return Transcript{}, fmt.Errorf("talks below %q: %w", f.Agent.Home, ErrNoTranscript)
		},
		watch: func(a Agent, _ string, _ time.Time) []spot {
			return []spot{{filepath.Join(a.Home, "talks"), a.Home}}
		},
		pattern: func(a Agent, thread string) string { return filepath.Join(quoteGlob(a.Home), "talks", thread+".jsonl") },
	})
}

// fifthRecord reads one record: who, and what.
func fifthRecord(line []byte, r *Reader) []Event {
	var l struct {
		At   string `json:"at"`
		Who  string `json:"who"`
		Says string `json:"says"`
	}
	if !r.decode(line, &l) {
		return nil
	}
	at := timeOf(l.At)
	r.health.Known++
	switch l.Who {
	case "person":
		return []Event{{Kind: Prompted, At: at, Turn: l.At, Text: l.Says, By: ByKeys}}
	case "fifth":
		return []Event{{Kind: Spoke, At: at, Text: l.Says}}
	case "over":
		return []Event{{Kind: TurnEnded, At: at}}
	}
	r.unknown(l.Who)
	return nil
}
