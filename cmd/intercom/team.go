package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// teamFlags holds the flags of all commands about a team.
type teamFlags struct{ dir string }

// team returns the commands of the team lesson. They print the lesson's own words as they stand there, errors too, on
// standard output.
func (a *app) team() *cobra.Command {
	var in teamFlags
	cmd := &cobra.Command{
		Use:   "team",
		Short: "Lead a team of agents, or work in one (.team)",
		Long: `Lead a team of agents in a project, or work in one, with the files of the team
lesson: .team/config.json says who is in the team, .team/inbox/NAME.jsonl holds
what came for each. Its programs and these commands may share a team.

  {"team_name": "default", "members": [
    {"name": "alice", "role": "frontend dev", "status": "working"}]}

is a whole config.json. intercom team spawn writes it, and so may you; a status
is working, idle, shutdown or killed. An entry that has no usable name is passed
over: intercom team list and intercom doctor say which.

list, send, broadcast and inbox work on the files alone, and need no sidecar.
The files prove nothing about who wrote a message. What comes for a teammate
whose session runs is typed into its pane, and then leaves the inbox.

A request to shut down, and a plan, are answered only by whoever was asked, from
their own pane: a message that merely says so changes nothing.`,
		Example: `  intercom team list
  intercom team send alice 'Build the dashboard.'
  intercom team inbox lead`,
		Args: a.onlyCommands, RunE: showHelp,
	}
	cmd.PersistentFlags().StringVar(&in.dir, "dir", "", "`DIR` in the project (default: the current one)")
	_ = cmd.MarkPersistentFlagDirname("dir")
	cmd.AddCommand(a.teamList(&in), a.teamSend(&in), a.teamBroadcast(&in), a.teamInbox(&in),
		a.teamSpawn(&in), a.teamShutdownRequest(&in), a.teamShutdownResponse(), a.teamShutdownStatus(),
		a.teamPlan(), a.teamPlanReview(), a.teamPlanWait())
	return cmd
}

// find opens the .team of the project that is meant, if there is one.
func (f *teamFlags) find() (d team.Dir, found bool, err error) {
	whole, err := directoryOf(f.dir)
	if err != nil {
		return d, false, err
	}
	root := repository.Nearest(whole, team.Folder)
	if root == "" {
		return team.Dir{Path: whole}, false, team.Theirs(whole)
	}
	d, err = team.Open(root)
	return d, true, err
}

// open is find for a command that needs a team.
func (f *teamFlags) open() (team.Dir, error) {
	d, found, err := f.find()
	if err == nil && !found {
		err = api.Errorf(api.CodeNotFound, "%s", noTeam(d)).WithHint("--dir names another project; its lead makes .team/config.json with the first teammate")
	}
	return d, err
}

func noTeam(d team.Dir) string {
	return fmt.Sprintf("%q is in no project that has a %s directory", d.Path, team.Folder)
}

// teamOf opens the team that is meant, and checks that an agent may use it.
func (a *app) teamOf(ctx context.Context, in *teamFlags) (team.Dir, error) {
	d, err := in.open()
	if err != nil {
		return d, err
	}
	return d, a.partOf(ctx, d)
}

// partOf refuses a team to an agent that asks over MCP, unless it is in that team or works in its project. The agent's
// own sandbox does not restrict the program that serves its tools.
func (a *app) partOf(ctx context.Context, d team.Dir) error {
	if a.Agent == nil {
		return nil
	}
	c, _, running, err := a.running(ctx)
	if err != nil {
		return err
	}
	if running {
		owner, err := quickly(ctx, c, api.TeamInbox, api.InboxRequest{Dir: d.Path, Peek: true})
		if err != nil && api.AsError(err).Code != api.CodeNotFound || owner.Part {
			return err // the sidecar knows where a known agent works
		}
	}
	if here, err := directoryOf(""); err == nil && (here == d.Path || repository.Nearest(here, team.Folder) == d.Path) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "the team in %q: an agent may use only its own, or that of the project in which it works", d.Path).
		WithHint("send_message reaches a teammate whose session runs")
}

// onTeam makes a command's function out of one that prints its result by itself.
func (a *app) onTeam(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		defer a.still(cmd.CommandPath())()
		err := worded(run(cmd, args))
		said, ok := errors.AsType[*team.DocumentError](err)
		if !ok {
			return teamError(err)
		}
		if err := a.tell(teamFailed{"error", said.Text}, said.Text); err != nil {
			return err
		}
		return &shownError{api.Errorf(api.CodeFailed, "%s", said.Text).WithHint("%s", said.Hint).About(api.Worded, "")}
	}
}

// tell prints a value as JSON with --json, else a text.
func (a *app) tell(value any, text string) error {
	if a.json {
		return a.printJSON(value)
	}
	a.say("%s", plain(text))
	return nil
}

// teamFailed is what --json prints for an error in the lesson's words.
type teamFailed struct {
	Status string `json:"status"` // error
	Text   string `json:"error"`
}

// teamError gives an error about a team's files its code and hint.
func teamError(err error) error {
	if of, ok := errors.AsType[*team.NameError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of).WithHint("a name is that of a file, of at most 64 bytes, and begins with neither . nor -")
	}
	if of, ok := errors.AsType[*team.TwinError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of).WithHint("choose another name")
	}
	if of, ok := errors.AsType[*team.UnknownError](err); ok {
		return api.Errorf(api.CodeNotFound, "%w", of).WithHint("intercom team list shows who is in the team; lead is its lead")
	}
	if of, ok := errors.AsType[*team.BusyError](err); ok {
		return api.Errorf(api.CodeFailed, "%w", of).WithHint("try again; if it goes on, lsof shows which program has the file open")
	}
	if of, ok := errors.AsType[*team.TheirsError](err); ok {
		return api.Errorf(api.CodeRefused, "%w", of).WithHint("run it as that user, or name another project: --dir DIR")
	}
	if of, ok := errors.AsType[*foreign.NotOursError](err); ok {
		return api.Errorf(api.CodeRefused, "%w", of)
	}
	return err
}

// members completes the names of a team.
func (f *teamFlags) members(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if d, err := f.open(); err == nil && len(args) == 0 {
		c, _ := d.Config()
		names = append(names, team.Lead)
		for _, m := range c.Members {
			names = append(names, m.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// warnSkipped warns of the entries in config.json that are not teammates.
func (a *app) warnSkipped(d team.Dir, c team.Config) {
	for i, one := range c.Skipped {
		if i == mostSkipped {
			a.warn(fmt.Sprintf("%q: %d more entries of members are passed over", d.File(), len(c.Skipped)-i))
			return
		}
		a.warn(fmt.Sprintf("%q: %v", d.File(), one))
	}
}

// mostSkipped is how many wrong entries are reported one by one.
const mostSkipped = 5

func (a *app) teamList(in *teamFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the teammates, with role and status",
		Long: `List the members in config.json with their roles and statuses: working, idle,
shutdown, or killed, for one whose session was ended without asking it. The lead
is among them only if somebody has put it there: intercom team spawn does not.`,
		Example: `  intercom team list`,
		Args:    between(0, 0, "no arguments"),
	}
	// listed is what `team list --json` prints.
	type listed struct {
		Dir string `json:"dir"` // of the project
		team.Config
	}
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, _ []string) error {
		d, found, err := in.find()
		if err == nil {
			err = a.partOf(cmd.Context(), d)
		}
		if err != nil {
			return err
		}
		if !found {
			a.note("%s", noTeam(d))
		}
		c, err := d.Config()
		if err != nil {
			return err
		}
		a.warnSkipped(d, c)
		if c.Members == nil {
			c.Members = []team.Member{}
		}
		return a.tell(listed{d.Path, c}, c.String())
	})
	return cmd
}

func (a *app) teamSend(in *teamFlags) *cobra.Command {
	var from, kind, file string
	cmd := &cobra.Command{
		Use:   "send NAME TEXT",
		Short: "Put a message into a teammate's inbox",
		Long: `Put a message into the inbox of a teammate, or of the lead. It is on disk when
the command ends. A teammate's answer is a message of its own: intercom team
inbox prints what came for you, and intercom session data NAME what a teammate
says in its pane.

--type is one of message, broadcast, shutdown_request, shutdown_response and
plan_approval_response, or plan_approval or plan_approval_request for the last.
A message of these types asks and answers nothing by itself: it has no
request_id.`,
		Example: `  intercom team send alice 'Build the dashboard.'
  intercom team send lead 'It is built.' --from alice`,
		Args:              between(1, 2, "a name and a text"),
		Annotations:       map[string]string{takesText: "yes"},
		ValidArgsFunction: in.members,
	}
	fromFlag(cmd, in, &from)
	cmd.Flags().StringVar(&kind, "type", team.TypeMessage, "`TYPE` of the message")
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	_ = cmd.MarkFlagFilename("file")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(team.Types, cobra.ShellCompDirectiveNoFileComp))
	// sent is what `team send --json` prints.
	type sent struct {
		Status string `json:"status"` // sent
		Type   string `json:"type"`
		From   string `json:"from"`
		To     string `json:"to"`
		Note   string `json:"note,omitempty"` // what keeps the message from its recipient
	}
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		text, err := a.teamText(cmd, args[1:], file)
		if err != nil {
			return err
		}
		if kind, err = team.ParseType(kind); err != nil {
			return err
		}
		d, err := a.teamOf(cmd.Context(), in)
		if err != nil {
			return err
		}
		if from, err = a.ownName(cmd.Context(), d, from); err != nil {
			return err
		}
		how, err := a.teamSay(cmd.Context(), d, api.TeamMessage{To: args[0], From: from, Type: kind, Content: text}, func(m team.Message) (int, error) {
			return 1, d.Send(args[0], m)
		})
		if err != nil {
			return err
		}
		if err := a.tell(sent{"sent", kind, from, args[0], how.Note}, fmt.Sprintf("Sent %s to %s", kind, args[0])); err != nil {
			return err
		}
		if how.Note != "" {
			a.note("%s", how.Note)
		}
		return nil
	})
	return cmd
}

// teamSay sends a message through the sidecar, which knows who says it. If no sidecar runs, or it refuses to write
// there for this caller, byHand sends it.
func (a *app) teamSay(ctx context.Context, d team.Dir, m api.TeamMessage, byHand func(team.Message) (int, error)) (sent api.TeamSent, err error) {
	said := team.Message{Type: m.Type, From: m.From, Content: m.Content, At: time.Now()}
	c, _, running, err := a.running(ctx)
	if err != nil || !running {
		sent.Teammates, err = byHand(said)
		return sent, err
	}
	m.Dir = d.Path
	if m.To == "" { // perhaps to ten thousand teammates
		sent, err = api.Call(ctx, c, api.SendToTeam, m)
	} else {
		sent, err = quickly(ctx, c, api.SendToTeam, m)
	}
	if err != nil && api.AsError(err).Code == api.CodeRefused { // the sidecar does not lend its rights for this
		sent.Teammates, err = byHand(said)
	}
	return sent, err
}

// ownName returns the author of a message: the one that was named, else the teammate in whose session this runs, else
// the lead. A caller of whom nothing shows that it may be the lead has to name one: the files take any word for it,
// except the name of another teammate from a teammate.
func (a *app) ownName(ctx context.Context, d team.Dir, said string) (string, error) {
	mate, _ := service.MateOf(d, os.Getpid())
	switch {
	case mate.Own != "" && said != "" && said != mate.Own:
		return "", api.Errorf(api.CodeUsage, "send as %q: the caller is %q in this team", said, mate.Own).WithHint("leave out who sends it")
	case said != "" || mate.Own != "":
		return cmp.Or(said, mate.Own), nil
	}
	owner, err := a.inboxOwner(ctx, d, api.InboxRequest{Peek: true})
	switch {
	case err == nil && owner.Sure:
		return owner.Name, nil
	case err == nil || api.AsError(err).Code == api.CodeRefused:
		err = errors.New("nothing shows that the caller is its lead")
	case !nameless(err):
		return "", err
	}
	return "", api.Errorf(api.CodeUsage, "say who sends it to the team in %q: %w", d.Path, err).WithHint("--from NAME, lead or a teammate")
}

// teamText returns the text of a message. It fails if the flag for the author is empty.
func (a *app) teamText(cmd *cobra.Command, args []string, file string) (string, error) {
	if err := checkWord(cmd, "from"); err != nil {
		return "", err
	}
	return a.textOf(cmd.Context(), args, file)
}

// fromFlag adds the flag that names the author of a message.
func fromFlag(cmd *cobra.Command, in *teamFlags, from *string) {
	cmd.Flags().StringVar(from, "from", "", "`NAME` of who sends it: lead, or a teammate; else the caller's own")
	_ = cmd.RegisterFlagCompletionFunc("from", func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return in.members(cmd, nil, word)
	})
}

func (a *app) teamBroadcast(in *teamFlags) *cobra.Command {
	var from, file string
	cmd := &cobra.Command{
		Use:   "broadcast TEXT",
		Short: "Put a message into the inboxes of all teammates",
		Long: `Put a message into the inbox of every member in config.json but the one who
sends it. The lead gets one only if it is among them.`,
		Example:     `  intercom team broadcast 'The interface has changed: read docs/api.md.'`,
		Args:        between(0, 1, "a text"),
		Annotations: map[string]string{takesText: "yes"},
	}
	fromFlag(cmd, in, &from)
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	_ = cmd.MarkFlagFilename("file")
	// sent is what `team broadcast --json` prints.
	type sent struct {
		Status    string `json:"status"` // sent
		From      string `json:"from"`
		Teammates int    `json:"teammates"` // who got it
	}
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		text, err := a.teamText(cmd, args, file)
		if err != nil {
			return err
		}
		d, err := a.teamOf(cmd.Context(), in)
		if err != nil {
			return err
		}
		if from, err = a.ownName(cmd.Context(), d, from); err != nil {
			return err
		}
		told, err := a.teamSay(cmd.Context(), d, api.TeamMessage{From: from, Type: team.TypeBroadcast, Content: text}, d.Broadcast)
		if err != nil {
			return err
		}
		if c, err := d.Config(); err == nil {
			a.warnSkipped(d, c)
		}
		return a.tell(sent{"sent", from, told.Teammates}, fmt.Sprintf("Broadcast to %d teammates", told.Teammates))
	})
	return cmd
}
