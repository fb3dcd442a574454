package policyset

import (
	"context"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// most limits how many messages are prepared at once: no more than can be asked about in the time that a relay grants.
const most = 64

// DecideAhead is Decide for several messages, while nothing prevents the scripts from being asked: see relay.Ahead.
func (p *Live) DecideAhead(ctx context.Context, qs []relay.Question, within time.Duration) (all []message.Verdict) {
	qs = qs[:min(len(qs), most)]
	if slices.ContainsFunc(qs, func(q relay.Question) bool { return p.strange(concerned(q)) || p.uncovered(concerned(q)) }) {
		return nil
	}
	p.mu.Lock()
	workplaces, form, asks := p.places, p.settings.Attribution, p.unread != "" || p.status.Generation == ""
	p.mu.Unlock()
	if asks {
		return nil
	}
	configs := map[string]map[string]any{} // by message type
	ins := make([]policy.Input, len(qs))
	input := func(i int) policy.Input {
		kind := qs[i].Message.Type
		config, known := configs[kind]
		if !known {
			config = p.configOf(ctx, kind, workplaces)
			configs[kind] = config
		}
		ins[i] = p.inputWith(qs[i], workplaces, config)
		return ins[i]
	}
	for i, v := range p.engine.EvaluateAhead(ctx, len(qs), input, within) {
		if i == 0 {
			p.later(false)
		}
		if p.uncovered(concerned(qs[i])) || p.unasked(qs[i], ins[i], v) { // this changed since they were asked; Decide finds what holds
			break
		}
		out := p.took(ctx, qs[i], v, form)
		p.recordVerdict(v, out)
		all = append(all, out)
	}
	return all
}
