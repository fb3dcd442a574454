package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaApproval is one message that waits for a person's yes.
type aeaApproval struct {
	ID         message.ID `json:"id"` // for approve and reject
	Repository string     `json:"repository"`
	letters
	Reason string `json:"reason"`
	Since  string `json:"since"`
	Text   string `json:"text"`
}

func (a *app) aeaApprovals(*string) *cobra.Command {
	return &cobra.Command{
		Use:   "approvals",
		Short: "List the messages that await your approval",
		Long: `List the messages that came as files and await your approval, of all
repositories, oldest first. intercom aea approve ID and reject ID decide;
intercom inbox shows them too.`,
		Example: `  intercom aea approvals`,
		Args:    between(0, 0, "no arguments"),
		RunE: prints(a, func(cmd *cobra.Command, _ []string) ([]aeaApproval, error) {
			found := []aeaApproval{}
			clients, err := a.sidecars(cmd.Context())
			for _, c := range clients {
				held, err := quickly(cmd.Context(), c, api.Inbox, api.None{})
				if err != nil {
					return nil, err
				}
				for _, h := range held {
					if one, ok := approvalOf(h); ok {
						found = append(found, one)
					}
				}
			}
			return found, err
		}),
	}
}

// approvalOf is what waits, if it came as a file.
func approvalOf(h api.Held) (aeaApproval, bool) {
	e := h.Envelope
	file, path, ok := repository.Came(e)
	if !ok || !h.Decision {
		return aeaApproval{}, false
	}
	one := aeaApproval{ID: h.Message, Reason: string(h.Reason), Since: day(h.Since), Text: e.Body, Repository: h.To}
	one.letters = letters{File: file, ID: e.Meta["aea_id"], Type: e.Type, Priority: e.Priority, From: e.Meta["aea_agent"], FromPath: path, Subject: e.Subject, Wanted: e.RequiresResponse, Processed: true}
	if h.Asked != nil {
		one.Reason = h.Asked.For(h.Envelope.To[0].Peer).Reason
	}
	return one, true
}

func (a *app) aeaApprove() *cobra.Command {
	return a.inJSON(a.decidesBy(a.holder, api.ChoiceApprove, func(context.Context, *api.DecideRequest, api.Decided) error { return nil }, &cobra.Command{
		Use:   "approve ID",
		Short: "Approve a message: the repository's agent gets it",
		Long: `Approve a message that came as a file: the agent that works in the repository
gets it. The message is shown, and only y at your terminal means yes.`,
		Example: `  intercom aea approve 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
	}))
}

func (a *app) aeaReject() *cobra.Command {
	var say string
	cmd := a.decidesBy(a.holder, api.ChoiceReject, func(_ context.Context, req *api.DecideRequest, _ api.Decided) error {
		req.Say = say
		return checkText(say)
	}, &cobra.Command{
		Use:   "reject ID",
		Short: "Reject a message: nobody gets it",
		Long: `Reject a message that came as a file: nobody gets it. Its sender learns only
what you tell them with --say, as a file in their repository. You are asked, and
only y at your terminal means yes.`,
		Example: `  intercom aea reject 4d0c8ed2 --say 'not this week'`,
		Args:    between(1, 1, "an id"),
	})
	cmd.Flags().StringVar(&say, "say", "", "`TEXT` to its sender, from you")
	return a.inJSON(cmd)
}

// inJSON has a command print JSON, whatever its flags say.
func (a *app) inJSON(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.json = true
		return run(cmd, args)
	}
	return cmd
}

// holder is the sidecar in whose journal a message is.
func (a *app) holder(ctx context.Context, id string) (*api.Client, error) {
	clients, err := a.sidecars(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		held, err := quickly(ctx, c, api.Inbox, api.None{})
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(held, func(h api.Held) bool { return h.Message.Is(id) || h.Delivery.Is(id) }) {
			return c, nil
		}
	}
	if len(clients) == 1 {
		return clients[0], nil // it may have been decided before
	}
	return nil, api.Errorf(api.CodeNotFound, "no message %q awaits approval", id).WithHint("intercom aea approvals lists what does")
}
