package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

func (a *app) teamInbox(in *teamFlags) *cobra.Command {
	var peek bool
	cmd := &cobra.Command{
		Use:   "inbox [NAME]",
		Short: "Print the messages in an inbox, and empty it",
		Long: `Print the messages in the inbox of a teammate, or of the lead, oldest first, as
a JSON list of the objects that are there, and empty it once they are printed.
Of several that read at once each message goes to one. Without NAME it is your
own: that of the lead, or of the teammate in whose session this is run. A
teammate cannot empty the inbox of another one that runs.

Each object has type, from, content and timestamp (seconds since 1970), and
where it belongs to a request, request_id, approve, feedback, plan.

A line that is no JSON object goes to inbox/NAME.broken instead.`,
		Example: `  intercom team inbox
  intercom team inbox alice --peek --json`,
		Args:              between(0, 1, "at most a name"),
		ValidArgsFunction: in.members,
	}
	cmd.Flags().BoolVar(&peek, "peek", false, "leave the messages where they are")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		d, err := in.open()
		if err != nil {
			return err
		}
		q := api.InboxRequest{Dir: d.Path, Peek: peek}
		if len(args) > 0 {
			q.Name = args[0]
		}
		name, err := a.inboxOwner(cmd.Context(), q)
		if err != nil {
			return err
		}
		if peek {
			all, err := d.Peek(name)
			if err != nil {
				return err
			}
			return a.printInbox(all)
		}
		aside, err := d.Drain(name, a.printInbox)
		if err != nil {
			return err
		}
		if aside > 0 {
			a.warn(fmt.Sprintf("%s without a message in it moved to %q", several(aside, "line"), d.Aside(name)))
		}
		return nil
	})
	return cmd
}

// inboxOwner is whose inbox is meant, as the sidecar knows it; where none runs, nobody has a session.
func (a *app) inboxOwner(ctx context.Context, q api.InboxRequest) (string, error) {
	c, _, running, err := a.running(ctx)
	if err != nil || !running {
		return cmp.Or(q.Name, team.Lead), nil
	}
	owner, err := quickly(ctx, c, api.TeamInbox, q)
	return owner.Name, err
}

// printInbox prints messages as a JSON list: on one line with --json, else as the lesson prints it.
func (a *app) printInbox(all []team.Message) error {
	lines := make([][]byte, len(all))
	for i, m := range all {
		lines[i] = m.Line
	}
	list := json.RawMessage("[" + string(bytes.Join(lines, []byte(","))) + "]")
	if a.json {
		return a.printJSON(list)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, list, "", "  "); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	a.told()
	_, err := io.WriteString(a.Stdout, escapeJSON(b.String())+"\n")
	return err
}
