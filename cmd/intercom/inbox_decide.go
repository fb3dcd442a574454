package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

func (a *app) inboxApprove() *cobra.Command {
	return a.decides(api.ChoiceApprove, func(context.Context, *api.DecideRequest, api.Decided) error { return nil }, &cobra.Command{
		Use:   "approve ID",
		Short: "Approve a message as it is",
		Long: `Approve a message that awaits approval, for all its recipients. It is shown, and
only y at your terminal means yes. What you approve counts as a message from
you: limits do not hold it, and the depth starts again from 0.

The first decision counts. Approving again changes nothing; after any other
decision it is refused, and says who decided. A message that a policy dropped or
sent back can be approved too, as long as its recipients are there.`,
		Example: `  intercom inbox approve 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
	})
}

func (a *app) inboxReject() *cobra.Command {
	var say string
	cmd := a.decides(api.ChoiceReject, func(_ context.Context, req *api.DecideRequest, _ api.Decided) error {
		req.Say = say
		return checkText(say)
	}, &cobra.Command{
		Use:   "reject ID",
		Short: "Reject a message in the inbox",
		Long: `Reject a message that awaits approval, or that waits for anything else and was
not typed yet: it is not delivered. Its receipt says so, in intercom log ID. The
sender of one that awaits approval learns only what you tell it with --say; the
sender of another one is told that it was rejected. You are asked, and only y at
your terminal means yes.`,
		Example: `  intercom inbox reject 4d0c8ed2 --say "not before the tests pass"`,
		Args:    between(1, 1, "an id"),
	})
	cmd.Flags().StringVar(&say, "say", "", "`TEXT` to its sender, from you")
	return cmd
}

func (a *app) inboxReply() *cobra.Command {
	cmd := a.decides(api.ChoiceReply, func(context.Context, *api.DecideRequest, api.Decided) error { return nil }, &cobra.Command{
		Use:   "reply ID TEXT",
		Short: "Answer a message yourself instead of approving it",
		Long: `Answer a message that awaits approval yourself: it is not delivered, and its
sender gets TEXT from you. You are asked, and only y at your terminal means yes.`,
		Example: `  intercom inbox reply 4d0c8ed2 "use the second one"`,
		Args:    between(2, 2, "an id and a text"),
	})
	return cmd
}

func (a *app) inboxEdit() *cobra.Command {
	return a.decides(api.ChoiceApprove, func(ctx context.Context, req *api.DecideRequest, d api.Decided) error {
		id := d.Message.Short()
		text, err := a.edited(ctx, render.Words(d.Waiting[0].Form, d.Waiting[0].Envelope), ways{"intercom inbox approve " + id, "intercom inbox reject " + id})
		req.Body = &text
		return err
	}, &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a message and approve it",
		Long: `Open a message that awaits approval in $VISUAL or $EDITOR, and approve it as you
change it. It still goes under the name of whoever said it; intercom log ID
shows that a person edited it, and the journal keeps the original. You are
asked, and only y at your terminal means yes.`,
		Example: `  intercom inbox edit 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
	})
}

// decides completes a command by which a person decides about a message. complete adds to the request once it is known
// that there is a decision to make.
func (a *app) decides(choice api.Choice, complete func(context.Context, *api.DecideRequest, api.Decided) error, cmd *cobra.Command) *cobra.Command {
	return a.decidesBy(func(ctx context.Context, _ string) (*api.Client, error) { return a.tmuxClient(ctx) }, choice, complete, cmd)
}

// decidesBy is decides for a command whose sidecar depends on the message; where finds the sidecar.
func (a *app) decidesBy(where func(ctx context.Context, id string) (*api.Client, error), choice api.Choice, complete func(context.Context, *api.DecideRequest, api.Decided) error, cmd *cobra.Command) *cobra.Command {
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) (api.Decided, error) {
		return a.decide(cmd.Context(), where, choice, args, complete)
	}, a.showDecided)
	a.completes(cmd, decisionWords(choice == api.ChoiceReject))
	return cmd
}

// decide has a person decide about the message that args name.
func (a *app) decide(ctx context.Context, where func(ctx context.Context, id string) (*api.Client, error), choice api.Choice, args []string, complete func(context.Context, *api.DecideRequest, api.Decided) error) (d api.Decided, err error) {
	reach := func(ctx context.Context) (*api.Client, error) { return where(ctx, args[0]) }
	req := api.DecideRequest{ID: args[0], Choice: choice}
	if choice == api.ChoiceReply {
		req.Say = args[1]
		if err := checkText(req.Say); err != nil {
			return d, err
		}
	}
	if d, err = request(ctx, reach, api.Decide, req); err != nil || d.Already {
		return d, err
	}
	if len(d.Waiting) == 0 {
		return d, undecidable(d)
	}
	if err := complete(ctx, &req, d); err != nil {
		return d, a.kept(req, d, err)
	}
	req.ID = string(d.Message)
	if req.Say != "" && choice != api.ChoiceReply { // find out whether it can be said before a person is asked
		if d, err = request(ctx, reach, api.Decide, req); err == nil && !d.Already && len(d.Waiting) == 0 {
			err = undecidable(d)
		}
		if err != nil || d.Already {
			return d, a.kept(req, d, err)
		}
	}
	if err := a.confirm(ctx, decisionAsked(req, d)); err != nil {
		return d, a.kept(req, d, err)
	}
	req.Sure = true
	d, err = request(ctx, reach, api.Decide, req)
	return d, a.kept(req, d, err)
}

func undecidable(d api.Decided) error {
	return api.Errorf(api.CodeRefused, "message %s does not await a decision", d.Message.Short()).WithHint("intercom inbox list")
}

// decisionAsked returns the question that a person is asked about a message, with its whole text, or with theirs: a yes
// covers only what was shown. Policies may have made a different text for each target.
func decisionAsked(req api.DecideRequest, d api.Decided) string {
	var bodies []string
	to := map[string][]string{}
	for _, h := range d.Waiting {
		body := render.Words(h.Form, h.Envelope)
		if req.Body != nil {
			body = *req.Body
		}
		if to[body] == nil {
			bodies = append(bodies, body)
		}
		to[body] = append(to[body], h.To)
	}
	var text strings.Builder
	first := d.Waiting[0]
	if _, path, came := repository.Came(first.Envelope); came {
		fmt.Fprintf(&text, "AEA %s, priority %s", plainLine(first.Envelope.Type), plainLine(first.Envelope.Priority))
		if path != "" {
			fmt.Fprintf(&text, ", from %s", plainLine(path))
		}
		text.WriteString("\n")
	}
	for _, body := range bodies {
		fmt.Fprintf(&text, "%s to %s%s:\n\n%s\n\n", plainLine(first.From), plainLine(strings.Join(to[body], ", ")), plainLine(inChat(first)), indent(plain(body), "  "))
	}
	for _, because := range d.Because() {
		fmt.Fprintf(&text, "You are asked: %s\n", plainLine(because))
	}
	if req.Say != "" {
		fmt.Fprintf(&text, "You say: %s\n", plainLine(req.Say))
	}
	return text.String() + map[api.Choice]string{
		api.ChoiceApprove: "Approve it?", api.ChoiceReject: "Reject it?", api.ChoiceReply: "Reject it, and answer it with your own words?",
	}[req.Choice]
}

func inChat(h api.Held) string {
	if h.Chat == "" {
		return ""
	}
	return " in chat " + cmp.Or(h.ChatName, h.Chat.Short())
}

func (a *app) showDecided(d api.Decided) {
	done := map[api.Choice]string{api.ChoiceApprove: "approved", api.ChoiceReject: "rejected", api.ChoiceReply: "answered"}[d.Choice]
	if d.Edited {
		done = "edited and " + done
	}
	if d.Already {
		a.say("message %s was already %s, by %s, %s", d.Message.Short(), done, plainLine(d.By.String()), day(d.At))
		return
	}
	from, to := "", map[message.ID]string{}
	if len(d.Waiting) > 0 {
		from = " of " + d.Waiting[0].From
	}
	for _, h := range d.Waiting {
		to[h.Delivery] = h.To
	}
	a.say("%s: message %s%s", done, d.Message.Short(), plainLine(from))
	for _, r := range d.Deliveries {
		state := r.State.Words(r.Door)
		if r.Reason != "" {
			state += ": " + string(r.Reason)
		}
		a.say("  %s", plainLine(cmp.Or(to[r.Delivery], r.Delivery.Short())+": "+state))
	}
}

// decisionWords returns the ids of the messages that await a person's decision, or of all that wait.
func decisionWords(whole bool) words {
	return func(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
		all, err := api.Call(ctx, c, api.Inbox, api.None{})
		found := []cobra.Completion{}
		for _, h := range all {
			if h.Decision || whole {
				found = append(found, cobra.CompletionWithDesc(h.Message.Short(), plainLine(h.From+" to "+h.To)))
			}
		}
		return found, err
	}
}

// ways names the other ways to decide about a message whose text a person has edited.
type ways struct{ approves, rejects string }

// keysThere are the keys for that on the screen.
var keysThere = ways{approves: "a", rejects: "x"}

// edited lets a person change a text in their editor.
func (a *app) edited(ctx context.Context, text string, others ways) (string, error) {
	dir, err := os.MkdirTemp("", "intercom-edit-") // mode 0700
	if err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "message.md")
	if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("create a file to edit: %w", err)
	}
	if err := a.edit(ctx, path); err != nil {
		return "", err
	}
	data, err := foreign.Read(path, 2*message.MaxBody)
	if err != nil {
		return "", fmt.Errorf("read the edited file: %w", err)
	}
	changed := string(data)
	if !strings.HasSuffix(text, "\n") {
		changed = strings.TrimSuffix(changed, "\n") // editors end the last line
	}
	switch {
	case changed == text:
		return "", api.Errorf(api.CodeRefused, "the text is unchanged, so nothing was done").WithHint("%s approves it as it is", others.approves)
	case strings.TrimSpace(changed) == "":
		return "", api.Errorf(api.CodeRefused, "the text is empty, so nothing was done").WithHint("%s rejects it", others.rejects)
	}
	return changed, checkText(changed)
}

// kept saves a text that a person wrote, if it was not used, and says where.
func (a *app) kept(req api.DecideRequest, d api.Decided, err error) error {
	if err == nil && !d.Already || req.Body == nil || *req.Body == "" {
		return err
	}
	path, fileErr := keepText(*req.Body)
	if fileErr != nil {
		return errors.Join(err, fileErr)
	}
	a.note("your text is saved in %s", path)
	return err
}

// keepText writes a person's text to a file of its own.
func keepText(text string) (path string, err error) {
	f, err := os.CreateTemp("", "intercom-edited-*.md") // mode 0600
	if err != nil {
		return "", fmt.Errorf("keep the text: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep the text: %w", err)
	}
	return f.Name(), nil
}
