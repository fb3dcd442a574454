package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/spelling"
)

// mostNear is how many existing names an agent is offered in place of one that nobody has.
const mostNear = 5

// adoptMe tells an unknown agent what it can do.
const adoptMe = "ask your user to run you in a tmux pane, and to adopt that: intercom adopt PANE"

// advise adds to an error what an agent can do next, in terms of tools, not of commands.
func (c *Call) advise(ctx context.Context, err error) error {
	told := api.AsError(err)
	switch {
	case errors.Is(err, context.Canceled):
		return api.Errorf(api.CodeFailed, "the call was cancelled")
	case told.Kind == api.PersonOnly:
		return told.WithHint("ask your user, who alone may: %s", told.Hint)
	case told.Kind == api.Unproven:
		return told.WithHint("%s", adoptMe)
	case told.Kind == api.NoSession || told.Kind == api.SessionEnded || told.Kind == api.NoPane:
		return told.WithHint("%s", c.nearest(ctx, told.Ref))
	case told.Kind == api.NoComputer:
		return told.WithHint("%slist_computers names those that are linked", c.prefix)
	case told.Kind == api.InChat:
		return told.WithHint("%schat_stop ends a chat; without one, send_message still reaches everybody", c.prefix)
	case told.Kind == api.NoChat || told.Kind == api.ChatEnded:
		return told.WithHint("%slist_chats names those that go on", c.prefix)
	case told.Code == api.CodeNoSidecar:
		return told.WithHint("%s", cmp.Or(told.Hint, "no tmux-intercom runs here; ask your user to run intercom up"))
	case told.Code == api.CodeUncertain:
		return told.WithHint("it may have been done: look before you do it again (%slist_sessions, %sget_session_data)", c.prefix, c.prefix)
	case told.Code == api.CodeRefused && told.Hint == "":
		return told.WithHint("ask your user, who may")
	case told.Code == api.CodeUsage && told.Hint == "":
		return told.WithHint("fix the arguments and call again")
	}
	return told
}

// nearest returns the names most like one that nobody has, the most similar first.
func (c *Call) nearest(ctx context.Context, wanted string) string {
	peers, err := Ask(ctx, c, api.Peers, api.None{})
	if err != nil {
		return c.prefix + "list_sessions says who is there"
	}
	self := c.who.Session.ID
	type near struct {
		distance int
		text     string
	}
	var all []near
	for _, p := range peers {
		if !p.Adopted || p.Session == self {
			continue
		}
		d := spelling.Distance(strings.ToLower(wanted), strings.ToLower(p.Name))
		for _, alias := range append(p.Aliases, string(p.Session)) {
			d = min(d, spelling.Distance(strings.ToLower(wanted), strings.ToLower(alias)))
		}
		all = append(all, near{d, fmt.Sprintf("%s (%s, session_id %s)", p.Name, cmp.Or(p.Agent, string(p.Kind)), cmp.Or(p.Session, message.Unverified))})
	}
	if len(all) == 0 {
		return "nobody else is there yet; ask your user to adopt a pane, or call " + c.prefix + "start_session"
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var texts []string
	for _, one := range all[:min(len(all), mostNear)] {
		texts = append(texts, one.text)
	}
	return "the nearest are " + strings.Join(texts, ", ") + "; " + c.prefix + "list_sessions names all"
}
