package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) explain() *cobra.Command {
	var req api.ExplainRequest
	cmd := &cobra.Command{
		Use:   "explain PANE",
		Short: "Explain what the sidecar makes of a pane, and why",
		Long: `Explain what the sidecar makes of a pane, and why: the agent in it, its state,
whether anything would be typed there now and what prevents it, what holds the
first message that waits, where its words come from, what is in its composer,
and each piece of evidence with its source and age, most important first.

PANE is the id of a pane or the name of a session. It need not be adopted: it is
looked at once, because you name it. --agent judges it as that agent, whatever
runs there.`,
		Example: `  intercom explain %7
  intercom explain claude-2 --json`,
		Args: between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Explanation, error) {
			req.Pane = args[0]
			if cmd.Flags().Changed("agent") {
				if err := oneOf("--agent", req.Agent, knownAgents); err != nil {
					return message.Explanation{}, err
				}
			}
			c, err := a.paneClient(cmd.Context(), &req.Pane)
			if err != nil {
				return message.Explanation{}, err
			}
			e, err := quickly(cmd.Context(), c, api.Explain, req)
			return e, aboutPane(err, req.Pane)
		}, a.showExplanation),
	}
	cmd.Flags().StringVar(&req.Agent, "agent", "", "judge it as this `AGENT`: "+strings.Join(knownAgents, ", "))
	a.completes(cmd, sessionWords)
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(knownAgents, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// doorWords describes the state of the agent's door.
func doorWords(e message.Explanation) string {
	if e.DoorWhy != "" {
		return fmt.Sprintf("its %s, not now: %s", e.Door, e.DoorWhy)
	}
	return fmt.Sprintf("its %s, for messages with door=auto", e.Door)
}

func (a *app) showExplanation(e message.Explanation) {
	line := func(what, format string, args ...any) {
		a.say("%-9s %s", what, plainLine(fmt.Sprintf(format, args...)))
	}
	line("pane", "%s, %s", e.Pane, cmp.Or(e.Session, notAdopted(e)))
	line("agent", "%s", agentWords(e))
	line("state", "%s", cmp.Or(e.State, message.Unknown))
	line("screen", "%s", screenWords(e))
	line("typing", "%s", typingWords(e))
	if h := e.Held; h != nil && h.Reason != e.Why {
		line("held", "message %s, %s", h.Message.Short(), holdingWords(h))
	}
	line("words", "%s", sourceWords(e))
	if e.Trouble != "" {
		line("trouble", "%s", e.Trouble)
	}
	line("composer", "%s", composerWords(e.Composer))
	if e.Door != "" {
		line("door", "%s", doorWords(e))
	}
	if len(e.Evidence) == 0 {
		return
	}
	a.say("")
	rows := [][]string{{"SOURCE", "WEIGHT", "AGE", "SAYS"}}
	for _, g := range e.Evidence {
		rows = append(rows, []string{g.Source, g.Weight, age(g.AgeMS), g.Says})
	}
	a.table(rows)
}

// notAdopted says that a pane is not adopted, and how to adopt it if an agent runs there. For any other program, adopt
// itself says what may be adopted.
func notAdopted(e message.Explanation) string {
	if e.Agent == "" {
		return "not adopted"
	}
	return "not adopted; intercom adopt " + e.Pane + " adopts it"
}

// agentWords returns the agent with its version, and the last tested version if that is another.
func agentWords(e message.Explanation) string {
	if e.Agent == "" {
		return "none known"
	}
	words := strings.TrimSpace(e.Agent + " " + e.Version)
	switch {
	case e.Verified == "" || e.Verified == e.Version:
		return words
	case e.Version == "":
		return words + ", unknown version; last tested with " + e.Verified
	}
	return words + "; last tested with " + e.Verified
}

func screenWords(e message.Explanation) string {
	switch {
	case e.MayType:
		return "a live, empty composer with nothing over it"
	case e.Composer.Live && !e.Composer.Empty && len(e.Unsent) > 0:
		return "a live composer with our text"
	case e.Composer.Live && !e.Composer.Empty:
		return "a live composer with a draft"
	}
	return "no composer to type into"
}

func typingWords(e message.Explanation) string {
	if e.WouldType {
		return "yes"
	}
	return "no: " + cmp.Or(string(e.Why), "no reason given") + untilWhat(e.Why)
}

// holdingWords says what holds a message; "" for none.
func holdingWords(h *message.Holding) string {
	switch {
	case h == nil:
		return ""
	case h.Reason == message.PaneTooNarrow && h.Says != "":
		return waitingFor(h.Reason) + ": " + h.Says
	}
	return waitingFor(h.Reason)
}

func sourceWords(e message.Explanation) string {
	from := map[string]string{"": "are not read", "transcript": "from its transcript", "hook": "from its hooks", "screen": "from the screen"}[e.WordsFrom]
	words := cmp.Or(from, "from "+e.WordsFrom)
	if e.Transcript != "" {
		words += ", " + e.Transcript
	}
	if e.Found != "" {
		words += " (" + e.Found + ")"
	}
	return words
}

func composerWords(c message.ComposerNow) string {
	switch {
	case !c.Live:
		return "none is live"
	case c.Empty:
		return "live, empty"
	}
	return "live: " + c.Text
}

// age formats the age of a piece of evidence.
func age(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Truncate(time.Second).String()
}
