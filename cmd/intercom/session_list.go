package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) sessionList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, with who started each",
		Long: `List the sessions in panes: the adopted ones and those that were started. CALLER
is who had it started, LAST OUTPUT how long ago it last said something,
SUBSCRIBED BY names the sessions that are told when it is done, and WHY is what
keeps a message from being typed there now, or what holds the first that waits.`,
		Example: `  intercom session list
  intercom session list --json`,
		Args: between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]api.Session, error) {
			return request(cmd.Context(), a.tmuxClient, api.ListSessions, api.None{})
		}, a.showSessionList),
	}
	a.completes(cmd)
	return cmd
}

func (a *app) showSessionList(all []api.Session) {
	if len(all) == 0 {
		a.say("no sessions: no pane is adopted, and none was started")
		return
	}
	rows := [][]string{{"NAME", "ID", "AGENT", "STATE", "CALLER", "LAST OUTPUT", "SUBSCRIBED BY", "COMPUTER", "WHY", "TITLE"}}
	for _, s := range all {
		last := ""
		if s.LastOutput != nil {
			last = time.Since(*s.LastOutput).Round(time.Second).String()
		}
		var told []string
		for _, id := range s.Subscribers {
			told = append(told, callerIn(all, string(id)))
		}
		rows = append(rows, []string{s.Name, s.ID.Short(), s.Agent, string(s.State), callerIn(all, s.Caller), last, strings.Join(told, ", "), s.Computer, cmp.Or(s.Why, holdingWords(s.Held)), s.Title})
	}
	a.table(rows)
}

// callerIn returns the name of a caller in a list: a session by its name, or by its short id if it is no longer listed;
// a person by theirs.
func callerIn(all []api.Session, caller string) string {
	for _, s := range all {
		if string(s.ID) == caller {
			return s.Name
		}
	}
	if id, err := message.ParseID(caller); err == nil {
		return id.Short()
	}
	return caller
}

func (a *app) sessionData() *cobra.Command {
	var q api.SessionDataQuery
	var since, until string
	cmd := &cobra.Command{
		Use:   "data PEER",
		Short: "Print what was said in a session lately",
		Long: `Print what was said in a session lately. For an agent that is what its own
transcript has, for any other program what passed through intercom. Its pane is
not touched.

--since and --until take a time such as 2026-11-23T14:00:00Z, or how long ago it
was, such as 10m.`,
		Example: `  intercom session data worker
  intercom session data worker --tail 500 --since 10m`,
		Args: between(1, 1, "a session"),
	}
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) (_ api.SessionWords, err error) {
		q.Session = args[0]
		if q.Since, err = instantOf("--since", since); err != nil {
			return api.SessionWords{}, err
		}
		if q.Until, err = instantOf("--until", until); err != nil {
			return api.SessionWords{}, err
		}
		c, err := a.paneClient(cmd.Context(), &q.Session)
		if err != nil {
			return api.SessionWords{}, err
		}
		words, err := quickly(cmd.Context(), c, api.SessionData, q)
		return words, aboutPane(err, q.Session)
	}, func(d api.SessionWords) {
		if d.Words == "" {
			a.note("nothing is known to have been said there")
			return
		}
		a.say("%s", plain(d.Words))
	})
	cmd.Flags().IntVar(&q.Tail, "tail", 0, "print the last `CHARS` characters (5000)")
	cmd.Flags().StringVar(&since, "since", "", "leave out what is older than `T`")
	cmd.Flags().StringVar(&until, "until", "", "leave out what is newer than `T`")
	a.completes(cmd, sessionWords)
	return cmd
}

// instantOf parses the time that a flag names; it is zero if the flag was not given.
func instantOf(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, api.Errorf(api.CodeUsage, "%s %q: not a time", flag, text).WithHint("2026-11-23T14:00:00Z, or how long ago: 10m")
	}
	return at, nil
}
