package policyset

import (
	"encoding/json"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (p *Live) recordVerdict(v policy.Verdict, out message.Verdict) {
	p.record(policy.Entry{
		Event: "decided", Generation: v.Generation, Message: out.Message, Verb: out.Verb, Reason: out.Reason, By: out.By,
		Outcomes: out.Outcomes, Floor: out.Floor, Failures: v.Failures, Said: v.Log, Micros: v.Took.Microseconds(),
		Instructions: v.Instructions, Unfiltered: v.Unfiltered,
	})
}

func (p *Live) record(e policy.Entry) {
	e.At = p.Now()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = p.Record.Write(append(line, '\n'))
	}
	if err != nil {
		p.Log.Warn("policy log", "err", err)
	}
}
