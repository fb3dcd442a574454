package main

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// tokensSetting is the setting that limits the tokens of a chat.
const tokensSetting = "tokens"

// noteUncounted tells a person who set a limit in tokens whose tokens it does not count: only agents write theirs down,
// in transcripts on this computer.
func (a *app) noteUncounted(ctx context.Context, c *api.Client, set map[string]string, chat message.Chat) {
	if set[tokensSetting] == "" {
		return
	}
	sessions, err := quickly(ctx, c, api.Sessions, api.None{})
	if err != nil {
		return // the chat has begun, and that is what was asked for
	}
	var uncounted []string
	there := 0
	for _, p := range chat.Participants {
		if p.Left {
			continue
		}
		there++
		if !slices.ContainsFunc(sessions, func(s message.Peer) bool { return s.ID == p.Peer && slices.Contains(knownAgents, s.Profile) }) {
			uncounted = append(uncounted, p.Name)
		}
	}
	switch len(uncounted) {
	case 0:
	case there:
		a.note("no program of this chat writes down its tokens: --set tokens=%s never pauses it", set[tokensSetting])
	case 1:
		a.note("--set tokens=%s does not count what %s uses: it writes down no tokens", set[tokensSetting], uncounted[0])
	default:
		a.note("--set tokens=%s does not count what %s use: they write down no tokens", set[tokensSetting], inWords("and", uncounted))
	}
}
