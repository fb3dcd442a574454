package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

func (a *app) teamInbox(in *teamFlags) *cobra.Command {
	var peek bool
	cmd := &cobra.Command{
		Use:   "inbox [NAME]",
		Short: "Print the messages in an inbox, and empty it",
		Long: `Print the messages in the inbox of a teammate, or of the lead, oldest first, as
a JSON list of the objects that are there, and empty it once they are printed;
if printing fails, they stay. Of several that read at once each message goes to
one: what you take out of a teammate's inbox it does not get, and --peek looks
without taking. What was just typed into its pane is not printed once more, or
you are told that it may have been. Without NAME it is your own: that of the
lead, or of the teammate in whose session this is run. A teammate cannot empty
the inbox of another one that runs.

Each object has type, from, content and timestamp (seconds since 1970), and
where it belongs to a request, request_id, approve, feedback, plan.

A line that is not a JSON object, or has a text of more than 1 MiB, goes to
inbox/NAME.broken instead.`,
		Example: `  intercom team inbox
  intercom team inbox alice --peek --json`,
		Args:              between(0, 1, "at most a name"),
		ValidArgsFunction: in.members,
	}
	cmd.Flags().BoolVar(&peek, "peek", false, "leave the messages where they are")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		d, err := a.teamOf(cmd.Context(), in)
		if err != nil {
			return err
		}
		q := api.InboxRequest{Peek: peek}
		if len(args) > 0 {
			q.Name = args[0]
		}
		owner, err := a.inboxOwner(cmd.Context(), d, q)
		if nameless(err) {
			err = api.Errorf(api.CodeUsage, "say whose inbox: %w", err).WithHint("intercom team inbox NAME, lead or a teammate")
		}
		if err != nil {
			return err
		}
		name := owner.Name
		if peek {
			all, wrong, err := d.Peek(name)
			if err != nil {
				return err
			}
			if wrong > 0 {
				a.warn(fmt.Sprintf("%s of the inbox: no message, or too long", several(wrong, "line")))
			}
			return a.printInbox(all)
		}
		defer a.survivePipe()()
		took := 0
		aside, err := d.Drain(name, func(all []team.Message) error {
			took = len(all)
			if err := a.printInbox(all); err != nil || a.Taken == nil || len(all) == 0 {
				return err
			}
			return a.Taken()
		})
		if err != nil {
			return err
		}
		if took > 0 && owner.Typing {
			a.note("one of them was just typed into the pane of %s too, and was not seen to be taken yet", name)
		}
		if took > 0 && len(args) > 0 {
			a.progress("took %s out of the inbox of %s; --peek looks without taking", several(took, "message"), name)
		}
		if aside > 0 {
			a.warn(fmt.Sprintf("%s moved to %q: no message, or too long", several(aside, "line"), d.Aside(name)))
		}
		return nil
	})
	return cmd
}

// inboxOwner returns whose inbox is meant: according to the processes of the caller, which no environment changes, else
// according to the sidecar. If no sidecar runs, nobody else has a session. If no name is given and neither can tell,
// the error is nameless.
func (a *app) inboxOwner(ctx context.Context, d team.Dir, q api.InboxRequest) (api.InboxOwner, error) {
	mate, untold := service.MateOf(d, os.Getpid())
	q.Dir, q.Name = d.Path, cmp.Or(q.Name, mate.Own)
	if mate.Own != "" && mate.Own != q.Name && !q.Peek && (q.Name == team.Lead || slices.Contains(mate.Others, q.Name)) {
		return api.InboxOwner{}, api.Errorf(api.CodeRefused, "empty the inbox of %q: it is not the caller's", q.Name).
			WithHint("intercom team inbox %s --peek leaves the messages where they are", q.Name)
	}
	c, _, running, err := a.running(ctx)
	if err == nil && !running && q.Name == "" && !api.NobodyAt(c.Socket) {
		err = c.Ping(ctx)
		running = err == nil // by now
	}
	switch {
	case running:
		owner, err := quickly(ctx, c, api.TeamInbox, q)
		if err == nil && q.Name == "" && !owner.Part && untold != nil {
			err = untold // perhaps this is the sidecar of another tmux server, which knows nobody here
		}
		return owner, err
	case q.Name != "":
		return api.InboxOwner{Name: q.Name, Sure: true}, nil
	case err != nil:
		return api.InboxOwner{}, fmt.Errorf("%w: %w", errHidden, err)
	}
	return api.InboxOwner{Name: team.Lead, Sure: true}, untold
}

// errHidden says that nothing tells whose session this is: it may be in a sandbox that reaches no socket.
var errHidden = errors.New("whose session this is cannot be asked")

// nameless reports whether an error says that nothing tells whose session this is.
func nameless(err error) bool {
	_, untold := errors.AsType[*service.UntoldError](err)
	return untold || errors.Is(err, errHidden)
}

// survivePipe makes a write to a pipe that nobody reads fail, instead of ending the process, until the returned
// function is called.
func (a *app) survivePipe() (undo func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGPIPE)
	return func() { signal.Stop(told) }
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
