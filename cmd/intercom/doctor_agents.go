package main

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// agentVersions looks at each agent that is adopted: whether its screens were tried in the
// version that runs. Another one is held rather than typed into where it looks different.
func agentVersions(ctx context.Context, x *patient) (all []finding) {
	const id = "agent_version"
	if x.status == nil {
		return nil
	}
	c := &api.Client{Socket: x.socket}
	for _, session := range x.status.Sessions {
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		e, err := api.Call(asking, c, api.Explain, api.ExplainRequest{Pane: session.Pane})
		cancel()
		if err != nil || e.Verified == "" {
			continue // of a line program nothing depends on a version
		}
		who := fmt.Sprintf("%s in %s (%s)", e.Agent, session.Pane, session.Name)
		switch e.Version {
		case e.Verified:
			all = append(all, finding{ID: id, Level: fine, Text: fmt.Sprintf("%s is version %s, which was tested", who, e.Version)})
		case "":
			all = append(all, finding{ID: id, Level: note, Text: fmt.Sprintf("%s does not tell its version; the last one tested is %s", who, e.Verified)})
		default:
			all = append(all, finding{
				ID: id, Level: note, Text: fmt.Sprintf("%s is version %s; the last one tested is %s", who, e.Version, e.Verified),
				Hint: fmt.Sprintf("if its screen is not recognised, messages are held: intercom explain %s", session.Pane),
			})
		}
	}
	return all
}
