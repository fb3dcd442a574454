package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

func (a *app) teamShutdownRequest(in *teamFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shutdown-request NAME",
		Short: "Ask a teammate to shut down",
		Long: `Ask a teammate to shut down, as the lead of the team. The teammate finishes what
it is doing, then approves or rejects; once it approves, its session ends.`,
		Example:           `  intercom team shutdown-request alice`,
		Args:              between(1, 1, "a name"),
		ValidArgsFunction: in.members,
	}
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		dir, err := in.project()
		if err != nil {
			return err
		}
		reply, err := request(cmd.Context(), a.client, api.RequestShutdown, api.ShutdownRequest{Dir: dir, Teammate: args[0]})
		return a.replied(reply, err)
	})
	return cmd
}

func (a *app) teamShutdownResponse() *cobra.Command {
	var said answerFlags
	cmd := &cobra.Command{
		Use:   "shutdown-response ID --approve|--reject",
		Short: "Answer a request to shut down",
		Long: `Answer a request to shut down. Only the teammate that was asked can, from its
own pane. Once it approves, its session ends after the current turn.`,
		Example: `  intercom team shutdown-response 1a2b3c4d --approve
  intercom team shutdown-response 1a2b3c4d --reject --reason 'Tests still run.'`,
		Args: between(1, 1, "a request_id"),
	}
	said.add(cmd, "reason")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		approve, err := said.approve(cmd)
		if err != nil {
			return err
		}
		reply, err := request(cmd.Context(), a.client, api.AnswerShutdown, api.ShutdownAnswer{RequestID: args[0], Approve: &approve, Reason: said.note})
		return a.replied(reply, err)
	})
	return cmd
}

func (a *app) teamShutdownStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shutdown-status ID",
		Short: "Print what became of a request to shut down",
		Long: `Print what became of a request to shut down, as JSON: pending, approved or
rejected. One that is "expired" too can no longer be answered.`,
		Example: `  intercom team shutdown-status 1a2b3c4d`,
		Args:    between(1, 1, "a request_id"),
	}
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		t, err := request(cmd.Context(), a.client, api.ShutdownStatus, api.HandshakeQuery{RequestID: args[0]})
		if err != nil {
			return err
		}
		t.Feedback = "" // the lesson's tracker has none
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if t.Error != "" {
			text = []byte(`{"error": "not found"}`) // with the lesson's blank
		}
		if err := a.tell(t, string(text)); err != nil {
			return err
		}
		if t.Error != "" {
			return exitCode(api.CodeNotFound.Exit())
		}
		return nil
	})
	return cmd
}

// answerFlags holds the flags of an answer to a request.
type answerFlags struct {
	yes, no bool
	note    string
}

func (f *answerFlags) add(cmd *cobra.Command, note string) {
	cmd.Flags().BoolVar(&f.yes, "approve", false, "say yes")
	cmd.Flags().BoolVar(&f.no, "reject", false, "say no")
	cmd.Flags().StringVar(&f.note, note, "", "why: `TEXT`")
}

// approve reports whether the answer is yes. Exactly one of the two flags must be given.
func (f *answerFlags) approve(cmd *cobra.Command) (bool, error) {
	if f.yes == f.no {
		return false, api.Errorf(api.CodeUsage, "give either --approve or --reject").WithHint("%s --help", cmd.CommandPath())
	}
	return f.yes, nil
}

// project returns the absolute path of the project that is meant.
func (f *teamFlags) project() (string, error) {
	d, err := f.open()
	return d.Path, err
}

// replied prints the outcome of a step of a handshake, in the lesson's words.
func (a *app) replied(reply api.HandshakeReply, err error) error {
	if err != nil {
		return err
	}
	return a.tell(reply, reply.Text)
}

// worded turns an error in the words of a document into one that is printed as it stands.
func worded(err error) error {
	if said, ok := errors.AsType[*api.Error](err); ok && said.Kind == api.Worded {
		return &team.DocumentError{Text: said.Text, Hint: said.Hint}
	}
	return err
}

// patiently is request for an operation that may take as long as ctx lets it.
func patiently[Q, R any](ctx context.Context, reach func(context.Context) (*api.Client, error), op api.Op[Q, R], req Q) (reply R, err error) {
	c, err := reach(ctx)
	if err != nil {
		return reply, err
	}
	return api.Call(ctx, c, op, req)
}

// inTime is patiently for a sidecar that says by itself when the time is over.
func inTime[Q, R any](ctx context.Context, most time.Duration, reach func(context.Context) (*api.Client, error), op api.Op[Q, R], req Q) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return patiently(ctx, reach, op, req)
}
