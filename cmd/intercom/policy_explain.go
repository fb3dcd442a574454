package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The dimensions of the matrix, and the usual trust of each origin.
var (
	matrixTypes      = []string{"question", "update", "issue", "handoff", "request", "response", message.KindMessage, message.KindTurn}
	matrixPriorities = []string{"low", "normal", "high", "urgent"}
	matrixOrigins    = map[message.Origin]message.Trust{
		message.OriginAgent: message.TrustVerified, message.OriginHuman: message.TrustPerson,
		message.OriginSystem: message.TrustVerified, message.OriginRemote: message.TrustRemote,
	}
	matrixTrusts = []string{
		string(message.TrustPerson), string(message.TrustVerified), string(message.TrustRegister),
		string(message.TrustLoopback), string(message.TrustRemote), string(message.TrustUnverified),
	}
)

// cell is one cell of the matrix.
type cell struct {
	Type     string       `json:"type"`
	Priority string       `json:"priority"`
	Verb     message.Verb `json:"verb"` // what becomes of the message; the default if no policy answered
	By       string       `json:"by"`   // file:line; "built in" if no policy answered
	Reason   string       `json:"reason,omitempty"`
	Notify   string       `json:"notify,omitempty"`
	Answered bool         `json:"answered"` // a policy has answered, or failed
}

// matrix is what `policy explain --all` prints with --json.
type matrix struct {
	Origin     message.Origin `json:"origin"`
	Trust      message.Trust  `json:"trust,omitempty"` // if it is not the usual one of the origin
	From       string         `json:"from"`
	To         string         `json:"to"`
	Repository string         `json:"repository,omitempty"` // of the recipient, if it has an agent-config.yaml
	Generation string         `json:"generation"`
	NotInForce *time.Time     `json:"not_in_force_since,omitempty"` // since then, after a rollback, earlier policies are in use
	Cells      []cell         `json:"cells"`
}

// sampled describes the message about which policies are asked.
type sampled struct {
	kind, priority, origin, trust, from, to, body string
	chat                                          bool      // the message is said in a chat of the two
	own                                           ownConfig // of the recipient's repository
}

func (a *app) policyExplain() *cobra.Command {
	var all bool
	var m sampled
	cmd := &cobra.Command{
		Use:   "explain [ID]",
		Short: "Show what happens to messages, and which line decides",
		Long: `Show what your policies do with a message, answer by answer. For the ID of a
message that was said: what was decided then, and what would be now. Otherwise
for a message that the flags describe, or with --all for one of every type and
priority: what becomes of it, and the file and line that decide. * marks what no
policy decides; there the built-in default applies.

Nothing is sent. Unless flags say otherwise, the described message goes from one
agent to another, outside any chat. The recipient works in this directory, whose
repository may have an .aea/agent-config.yaml.`,
		Example: `  intercom policy explain 3f0c2a91
  intercom policy explain --all
  intercom policy explain --all --origin human
  intercom policy explain --all --trust loopback-unverified
  intercom policy explain --type question --priority high`,
		Args: between(0, 1, "at most the id of a message"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if len(args) > 0 {
				return a.explainMessage(cmd, args, all || m.kind != "")
			}
			for _, flag := range []string{"type", "priority", "from", "to"} {
				if err := checkWord(cmd, flag); err != nil {
					return err
				}
			}
			switch {
			case matrixOrigins[message.Origin(m.origin)] == "":
				return api.Errorf(api.CodeUsage, "--origin %q: not agent, human, remote or system", m.origin).WithHint("%s --help", cmd.CommandPath())
			case m.trust != "" && !slices.Contains(matrixTrusts, m.trust):
				return api.Errorf(api.CodeUsage, "--trust %q: unknown", m.trust).WithHint("one of: %s", strings.Join(matrixTrusts, ", "))
			case m.priority != "" && !slices.Contains(matrixPriorities, m.priority):
				return api.Errorf(api.CodeUsage, "--priority %q: not low, normal, high or urgent", m.priority).WithHint("%s --help", cmd.CommandPath())
			case !all && m.kind == "":
				return api.Errorf(api.CodeUsage, "explain what?").WithHint("intercom policy explain ID, --all, or --type TYPE for one message")
			}
			left := a.leftFor(cmd.Context())
			switch {
			case left == nil:
			case a.json:
				a.note("%s: this is what they would do", leftSays(left.Since))
			default:
				a.sayLeft(left.Since, ": this is what they would do")
			}
			if all {
				return do(a, func(*cobra.Command, []string) (matrix, error) {
					table, err := a.matrix(cmd.Context(), m)
					if left != nil {
						table.NotInForce = &left.Since
					}
					return table, err
				}, a.showMatrix)(cmd, args)
			}
			return do(a, func(*cobra.Command, []string) (policy.Verdict, error) { return a.verdict(cmd.Context(), m) }, a.showVerdict)(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "every type and priority")
	flags.StringVar(&m.kind, "type", "", "`TYPE` of the message; with --all, one in addition to the known ones")
	flags.StringVar(&m.priority, "priority", "", "`low`, normal, high or urgent")
	flags.StringVar(&m.origin, "origin", string(message.OriginAgent), "`agent`, human, remote or system")
	flags.StringVar(&m.trust, "trust", "", "`HOW` the author is known, such as loopback-unverified\n(a talk port); else as usual for the origin")
	flags.StringVar(&m.from, "from", "Ada", "`NAME` of the author")
	flags.StringVar(&m.to, "to", "Ben", "`NAME` of the recipient")
	flags.StringVar(&m.body, "body", "hello", "`TEXT` of the message")
	flags.BoolVar(&m.chat, "chat", false, "said in a chat between the two")
	cmd.MarkFlagsMutuallyExclusive("all", "priority")
	a.completes(cmd)
	return cmd
}

// input returns the message as the policies get it.
func (m sampled) input() policy.Input {
	now := time.Now()
	from, to := message.Address{Name: m.from, Number: 1}, message.Address{Name: m.to, Number: 2}
	origin := message.Origin(m.origin)
	in := policy.Input{
		Message: message.Envelope{
			ID: message.NewID(), Thread: message.NewID(), From: from, Type: m.kind, Priority: m.priority, Body: m.body,
			Origin: origin, Trust: cmp.Or(message.Trust(m.trust), matrixOrigins[origin]), Depth: 1, Created: now,
		},
		To: []message.Address{to}, Now: now, Traced: true,
		Agents: []policy.Agent{{Address: from, State: string(message.Idle), MaySpeak: true}, {Address: to, State: string(message.Idle), MaySpeak: true}},
	}
	in.Agents[1].Repository, in.Config = m.own.repository, m.own.config()
	if m.chat {
		in.Chat = &policy.Chat{Participants: []string{from.Name, to.Name}}
	}
	return in
}

// verdict asks about one message.
func (a *app) verdict(ctx context.Context, m sampled) (policy.Verdict, error) {
	engine, set, end, err := a.compiled(ctx, nil)
	if err != nil {
		return policy.Verdict{}, err
	}
	defer end()
	if m.own, err = a.ownConfig(); err != nil {
		return policy.Verdict{}, err
	}
	return engine.Try(ctx, set, m.input())
}

// matrix asks about one message for each cell.
func (a *app) matrix(ctx context.Context, of sampled) (matrix, error) {
	engine, set, end, err := a.compiled(ctx, nil)
	if err != nil {
		return matrix{}, err
	}
	defer end()
	if of.own, err = a.ownConfig(); err != nil {
		return matrix{}, err
	}
	m := matrix{Origin: message.Origin(of.origin), Trust: message.Trust(of.trust), From: of.from, To: of.to, Repository: of.own.repository, Generation: set.Generation, Cells: []cell{}}
	kinds := slices.Clone(matrixTypes)
	if of.kind != "" && !slices.Contains(kinds, of.kind) {
		kinds = append(kinds, of.kind)
	}
	for _, of.kind = range kinds {
		for _, of.priority = range matrixPriorities {
			v, err := engine.Try(ctx, set, of.input())
			if err != nil {
				return m, err
			}
			o := v.Outcomes[0]
			reason := o.Reason
			if len(v.Failures) > 0 {
				reason = cmp.Or(reason, v.Failures[0].Text)
			}
			m.Cells = append(m.Cells, cell{
				Type: of.kind, Priority: of.priority, Verb: o.Verb, By: o.By, Reason: reason, Notify: o.Notify,
				Answered: o.By != policy.BuiltIn || len(v.Failures) > 0,
			})
		}
	}
	return m, nil
}

// ofConfig matches the place in a repository's file that a reason names.
var ofConfig = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`agent-config\.yaml, line \d+`) })

func (a *app) showMatrix(m matrix) {
	rows := [][]string{append([]string{"TYPE"}, upper(matrixPriorities)...)}
	var by []string // each place once, in the order of the matrix
	for i, c := range m.Cells {
		if i%len(matrixPriorities) == 0 {
			rows = append(rows, []string{c.Type})
		}
		text := string(c.Verb) + " *"
		if c.Answered {
			place := c.By
			if line := ofConfig().FindString(c.Reason); line != "" {
				place += ", " + line
			}
			n := slices.Index(by, place)
			if n < 0 {
				n = len(by)
				by = append(by, place)
			}
			text = fmt.Sprintf("%s (%d)", c.Verb, n+1)
			if c.Notify != "" {
				text = fmt.Sprintf("%s, %s (%d)", c.Verb, c.Notify, n+1)
			}
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], text)
	}
	origin := string(m.Origin)
	if m.Trust != "" {
		origin += " (" + string(m.Trust) + ")"
	}
	a.say("messages of origin %s, from %s to %s", origin, plainLine(m.From), plainLine(m.To))
	if m.Repository != "" {
		a.say("who works in %s", plainLine(m.Repository))
	}
	a.say("")
	a.table(rows)
	a.say("")
	for i, place := range by {
		a.say("(%d) %s", i+1, plainLine(place))
	}
	if slices.ContainsFunc(m.Cells, func(c cell) bool { return !c.Answered }) {
		a.say("* no policy decides")
	}
}

func upper(words []string) []string {
	var all []string
	for _, word := range words {
		all = append(all, strings.ToUpper(word))
	}
	return all
}

// showVerdict shows how a verdict came about: each answer, what failed, what becomes of the message, and what it cost.
// Only a message that was Traced has answers.
func (a *app) showVerdict(v policy.Verdict) {
	for _, h := range policy.Hooks {
		for _, answer := range v.Answers {
			if answer.Hook != h {
				continue
			}
			says := answer.Says
			if answer.Decision != nil {
				says = decisionLine(*answer.Decision)
			}
			to := ""
			if answer.To != "" {
				to = " for " + answer.To
			}
			a.say("%-7s %s%s: %s", h, plainLine(answer.By), plainLine(to), plainLine(says))
		}
		for _, f := range v.Failures {
			if f.Hook == h {
				a.say("%-7s %s failed: %s", h, plainLine(failedPlace(f)), plainLine(f.Text))
			}
		}
	}
	for _, f := range v.Failures {
		if f.Hook == "" {
			a.say("failed: %s", plainLine(f.Text))
		}
	}
	for _, l := range v.Log {
		a.say("printed %s:%d: %s", plainLine(l.Script), l.Line, plainLine(l.Text))
	}
	for _, o := range v.Outcomes {
		a.say("→ %s: %s, by %s", plainLine(o.To.Name), plainLine(decisionLine(o.Decision)), plainLine(o.By))
	}
	if v.Unfiltered {
		a.say("→ its text has not passed all filters, and is not sent before it has")
	}
	a.say("took %s and %s of the 200000 that each function call may use", milliseconds(v.Took), several(v.Instructions, "instruction"))
}

// failedPlace names the place of a failure.
func failedPlace(f policy.Failure) string {
	if f.Line == 0 {
		return cmp.Or(f.Script, "a policy")
	}
	return fmt.Sprintf("%s:%d", f.Script, f.Line)
}

// decisionLine formats a decision in one line.
func decisionLine(d policy.Decision) string {
	text := string(d.Verb)
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	if d.Notify != "" {
		text += ", notice " + d.Notify
	}
	if d.After > 0 {
		text += ", not before " + d.After.String() + " after that"
	}
	if d.Expires > 0 {
		text += fmt.Sprintf(", %s after %s", d.Otherwise, d.Expires)
	}
	return text
}
