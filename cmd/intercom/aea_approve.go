package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaApproval is a message that awaits a person's approval.
type aeaApproval struct {
	ID         message.ID `json:"id"`         // for approve and reject
	Repository string     `json:"repository"` // path of the repository that got it
	letters
	Reason string `json:"reason"`
	Since  string `json:"since"`
	Text   string `json:"text"`
}

// asleep is the reason why a person cannot decide about a message now.
const asleep = "the sidecar that asks for your approval does not run"

func (a *app) aeaApprovals(*string) *cobra.Command {
	return &cobra.Command{
		Use:   "approvals",
		Short: "List the messages that await your approval",
		Long: `List the messages that came as files and await your approval, of all
repositories, oldest first. intercom aea approve ID and reject ID decide;
intercom inbox shows them too. What a sidecar asked for that does not run any
more is asked again by the next one that processes the repository; approve and
reject start one, if need be.`,
		Example: `  intercom aea approvals`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) ([]aeaApproval, error) {
			return a.approvals(cmd.Context())
		}, a.showApprovals),
	}
}

// awaited is a message that awaits approval, according to its repository's ledger.
type awaited struct {
	dir repository.Dir
	repository.Progress
}

// awaited returns the messages of all enabled repositories that await approval, by id.
func (a *app) awaited() (map[message.ID]awaited, error) {
	list, err := a.enabled()
	if err != nil {
		return nil, err
	}
	wishes, err := list.List()
	all := map[message.ID]awaited{}
	for _, w := range wishes {
		d, err := repository.Open(w.Path)
		if err != nil {
			continue // the repository is not there
		}
		for _, p := range list.Progress(d) {
			if p.Awaits {
				all[p.ID] = awaited{d, p}
			}
		}
	}
	return all, err
}

// approvals returns the messages for which running sidecars ask approval, then those that only the ledgers list.
func (a *app) approvals(ctx context.Context) ([]aeaApproval, error) {
	waiting, err := a.awaited()
	if err != nil {
		return nil, err
	}
	clients, err := a.sidecars(ctx)
	if err != nil {
		return nil, err
	}
	found := []aeaApproval{}
	for _, c := range clients {
		held, err := quickly(ctx, c, api.Inbox, api.None{})
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			if one, ok := approvalOf(h); ok && !slices.ContainsFunc(found, func(had aeaApproval) bool { return had.ID == one.ID }) {
				one.Repository = cmp.Or(waiting[h.Message].dir.Path, one.Repository)
				found = append(found, one)
				delete(waiting, h.Message)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(waiting)) {
		w := waiting[id]
		one := aeaApproval{ID: id, Repository: w.dir.Path, Reason: asleep}
		f, err := w.dir.Lies(w.File)
		if one.letters = lettersOf(f.File, f.Message); err != nil {
			one.Invalid = err.Error()
		}
		one.Since, one.Text = one.Time, f.Message.Text()
		found = append(found, one)
	}
	return found, nil
}

// approvalOf returns h as an aeaApproval, and reports whether it came as a file and awaits a decision.
func approvalOf(h api.Held) (aeaApproval, bool) {
	e := h.Envelope
	file, path, ok := repository.Came(e)
	if !ok || !h.Decision {
		return aeaApproval{}, false
	}
	one := aeaApproval{ID: h.Message, Reason: string(h.Reason), Since: day(h.Since), Text: e.Body, Repository: h.To}
	one.letters = letters{File: file, ID: e.Meta["aea_id"], Type: e.Type, Priority: e.Priority, From: e.Meta["aea_agent"], FromPath: path, Subject: e.Subject, Wanted: e.RequiresResponse}
	if h.Asked != nil {
		one.Reason = h.Asked.For(h.Envelope.To[0].Peer).Reason
	}
	return one, true
}

// aeaDecided is what `aea approve` and `aea reject` print.
type aeaDecided struct {
	ID       message.ID `json:"id"`
	Decision string     `json:"decision"`          // approved or rejected
	Already  bool       `json:"already,omitempty"` // it was decided before
	By       string     `json:"by,omitempty"`      // who decided it before
	File     string     `json:"file,omitempty"`
	From     string     `json:"from,omitempty"`
	Subject  string     `json:"subject,omitempty"`
}

// aeaDecides completes a command by which a person decides about a message that came as a file.
func (a *app) aeaDecides(choice api.Choice, complete func(*api.DecideRequest) error, cmd *cobra.Command) *cobra.Command {
	cmd.RunE = tells(a, func(cmd *cobra.Command, args []string) (aeaDecided, error) {
		d, err := a.decide(cmd.Context(), a.holder, choice, args, func(_ context.Context, req *api.DecideRequest, _ api.Decided) error { return complete(req) })
		r := aeaDecided{ID: d.Message, Decision: map[api.Choice]string{api.ChoiceApprove: "approved", api.ChoiceReject: "rejected", api.ChoiceReply: "rejected"}[d.Choice], Already: d.Already}
		if d.Already {
			r.By = d.By.String()
		}
		if len(d.Waiting) > 0 {
			e := d.Waiting[0].Envelope
			r.File, _, _ = repository.Came(e)
			r.From, r.Subject = cmp.Or(e.Meta["aea_agent"], d.Waiting[0].From), e.Subject
		}
		return r, err
	}, a.showLetterDecided)
	a.completes(cmd, decisionWords(false))
	return cmd
}

func (a *app) aeaApprove() *cobra.Command {
	return a.aeaDecides(api.ChoiceApprove, func(*api.DecideRequest) error { return nil }, &cobra.Command{
		Use:   "approve ID",
		Short: "Approve a message: the repository's agent gets it",
		Long: `Approve a message that came as a file: the agent that works in the repository
gets it. The message is shown, and only y at your terminal means yes.`,
		Example: `  intercom aea approve 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
	})
}

func (a *app) aeaReject() *cobra.Command {
	var say string
	cmd := a.aeaDecides(api.ChoiceReject, func(req *api.DecideRequest) error {
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
	return cmd
}

// holder returns a client for the sidecar whose journal holds a message: that of the caller's own tmux server if it
// does, else any other.
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
	waiting, err := a.awaited()
	if err != nil {
		return nil, err
	}
	for one, w := range waiting {
		if one.Is(id) {
			return a.asker(ctx, one, w)
		}
	}
	if len(clients) > 0 {
		return clients[0], nil // the message may have been decided before
	}
	return nil, api.Errorf(api.CodeNotFound, "no message %q awaits approval", id).WithHint("intercom aea approvals lists what does")
}

// asker returns a client for a sidecar that asks about a message in place of one that does not run. Any sidecar that
// processes the repository asks; asker starts one here if none runs.
func (a *app) asker(ctx context.Context, id message.ID, w awaited) (*api.Client, error) {
	refused := api.Errorf(api.CodeRefused, "%s of %q: %s", w.File, w.dir.Path, asleep)
	if list, err := a.enabled(); err != nil {
		return nil, err
	} else if wish, ok := list.Find(w.dir.Path); !ok || wish.Monitor == repository.MonitorOff {
		return nil, refused.WithHint("intercom aea monitor start%s has another one ask", inRepository(w.dir.Path))
	}
	_, none := a.client(ctx) // another sidecar may process the repository already, or begin to within two seconds
	ctx, cancel := within(ctx)
	defer cancel()
	for {
		clients, err := a.sidecars(ctx)
		for _, c := range clients {
			held, err := quickly(ctx, c, api.Inbox, api.None{})
			if err == nil && slices.ContainsFunc(held, func(h api.Held) bool { return h.Message == id }) {
				return c, nil
			}
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			if none != nil {
				return nil, none
			}
			return nil, refused.WithHint("run intercom up where it ran: in its tmux server; intercom aea show %s%s shows the message", w.File, inRepository(w.dir.Path))
		case <-time.After(monitorPause):
		}
	}
}
