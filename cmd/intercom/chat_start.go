package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatStart() *cobra.Command {
	var req api.StartChatRequest
	var set, roles []string
	var settings strings.Builder
	for _, s := range api.Settings {
		fmt.Fprintf(&settings, "\n  %-11s%s", s.Key, strings.ReplaceAll(wrapped(" "+s.Means, helpWidth-14), "\n", "\n"+strings.Repeat(" ", 13)))
	}
	cmd := &cobra.Command{
		Use:   "start PANE PANE… | start --again CHAT",
		Short: "Start a chat between panes",
		Long: `Start a chat between two or more panes, each named by its id, its name, or as
tmux does: work:0.1, or 1 for a pane of this window. A talk port is named by its
number or its name, and takes part as a pane does. From now on, what one of them
says is typed into all the others as soon as their programs are ready for it.
What they showed before is not passed on. A pane can only be in one chat at a
time.

` + paragraph(titles("and", anyAgent)+` are recognised and adopted. Any other program must be adopted first, with intercom adopt.`) + `

--include-last begins with the first pane's last answer, sent to the others
before the TEXT of --say. With --one-way, answers go to the first pane and
nothing else is passed on: what the first pane says stays there, and --turns
counts answers. intercom ask does all of that at once.

--again restarts a chat that has ended, with its name, participants, roles and
settings; PANEs, in the order of the participants, say where they are now if
they are not in their old panes or under their old names. An agent that was
restarted in its pane takes its old place and gets the messages that were held
for it. A chat that is still running takes such an agent back.

Settings for --set, and their defaults:` + settings.String(),
		Example: `  intercom chat start %1 %2 --say 'Introduce yourselves.'
  intercom chat start alice bob carol --name plans --turns 12 --set depth=40
  intercom chat start alice bob --role alice=author --role bob=critic
  intercom chat start alice bob --include-last --one-way --turns 1
  intercom chat start --again plans`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("again") && len(args) == 0 {
				return nil
			}
			return between(2, -1, "two or more panes")(cmd, args)
		},
		Annotations: map[string]string{takesMany: "yes"},
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Chat, error) {
			req.Panes = args
			for _, flag := range []string{"again", "say"} {
				if err := checkWord(cmd, flag); err != nil {
					return message.Chat{}, err
				}
			}
			if req.Turns > api.MaxCount {
				return message.Chat{}, api.Errorf(api.CodeUsage, "--turns %d: too large", req.Turns).WithHint("without --turns the chat does not end by itself")
			}
			if req.Turns < 0 {
				return message.Chat{}, api.Errorf(api.CodeUsage, "--turns %d: must not be negative", req.Turns).
					WithHint("without --turns the chat does not end by itself; --turns 12 ends it after 12")
			}
			var err error
			if req.Set, err = pairs("--set", "KEY=VALUE", set); err != nil {
				return message.Chat{}, err
			}
			if req.Roles, err = pairs("--role", "PANE=ROLE", roles); err != nil {
				return message.Chat{}, err
			}
			if err := checkRoles(req.Roles, args); err != nil {
				return message.Chat{}, err
			}
			if req.Name != "" {
				if err := checkName(req.Name); err != nil {
					return message.Chat{}, err
				}
			}
			if _, err := api.ParseSettings(req.Set); err != nil {
				return message.Chat{}, err
			}
			if err := checkText(req.Say); err != nil {
				return message.Chat{}, err
			}
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return message.Chat{}, err
			}
			if req.Panes, req.Roles, err = a.starters(cmd.Context(), c, args, req.Roles); err != nil {
				return message.Chat{}, err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), beginWithin)
			defer cancel()
			chat, err := api.Call(ctx, c, api.StartChat, req)
			if err == nil {
				a.noteUncounted(cmd.Context(), c, req.Set, chat)
			}
			return chat, aboutStarter(aboutChat(err, req.Again))
		}, func(c message.Chat) {
			became := "started"
			if req.Again != "" && c.Again == "" {
				became = "continues"
			}
			a.say("chat %s %s: %s", chatName(c), became, plainLine(participants(c)))
			if c.Turns > c.Limits.Depth && c.Limits.Depth > 0 {
				a.note("it pauses after %d turns in a row without a word from you, before the %d are over; --set depth=%d lets them go on", c.Limits.Depth, c.Turns, c.Turns)
			}
		}),
	}
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` of the chat")
	cmd.Flags().StringVar(&req.Say, "say", "", "`TEXT` from you to all but the first pane, to begin with")
	cmd.Flags().IntVar(&req.Turns, "turns", 0, "end after `N` turns; 0 means never")
	cmd.Flags().BoolVar(&req.IncludeLast, "include-last", false, "begin with the first pane's last answer")
	cmd.Flags().BoolVar(&req.OneWay, "one-way", false, "send answers to the first pane, and pass nothing else on")
	cmd.Flags().StringArrayVar(&set, "set", nil, "`KEY=VALUE` of a setting; may be repeated")
	cmd.Flags().StringArrayVar(&roles, "role", nil, "`PANE=ROLE`: the role of a pane in the chat; may be repeated")
	cmd.Flags().StringVar(&req.Again, "again", "", "restart this `CHAT`, which has ended")
	a.completes(cmd, sessionWords)
	a.completesFlag(cmd, "again", endedChatWords)
	a.completesFlag(cmd, "role", roleWords)
	_ = cmd.RegisterFlagCompletionFunc("set", completeSetting)
	return cmd
}

// starters returns the panes of a chat and their roles, with pane ids in place of tmux targets.
func (a *app) starters(ctx context.Context, c *api.Client, words []string, roles map[string]string) ([]string, map[string]string, error) {
	panes := slices.Clone(words)
	all := make([]*string, len(panes))
	for i := range panes {
		all[i] = &panes[i]
	}
	if err := a.panes(ctx, c, all...); err != nil {
		return nil, nil, err
	}
	for i, word := range words {
		if role, ok := roles[word]; ok && panes[i] != word {
			delete(roles, word)
			roles[panes[i]] = role
		}
	}
	return panes, roles, nil
}

// aboutStarter extends the error that a word names no session: it names no pane either, and a pane was wanted.
func aboutStarter(err error) error {
	told, ok := errors.AsType[*api.Error](err)
	if !ok || told.Kind != api.NoSession {
		return err
	}
	if rest, all := strings.CutPrefix(told.Text, "no session "); all {
		return api.Errorf(told.Code, "no pane or session %s", rest).WithHint("%s", told.Hint).About(told.Kind, told.Ref)
	}
	return err
}

// checkRoles refuses a role for a word that is not in panes. If panes is empty, the chat restarts with its old panes,
// which only the sidecar knows.
func checkRoles(roles map[string]string, panes []string) error {
	for _, pane := range slices.Sorted(maps.Keys(roles)) {
		if len(panes) > 0 && !slices.Contains(panes, pane) {
			return api.Errorf(api.CodeUsage, "--role %q: %q is not a pane of this chat", pane+"="+roles[pane], pane).
				WithHint("name it as you named the pane: %s", strings.Join(panes, " "))
		}
		if err := api.CheckRole(roles[pane]); err != nil {
			return err
		}
	}
	return nil
}

// pairs splits the KEY=VALUE pairs of a flag. It refuses a key that is given twice.
func pairs(flag, form string, set []string) (map[string]string, error) {
	if len(set) == 0 {
		return nil, nil
	}
	split := map[string]string{}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, api.Errorf(api.CodeUsage, "%s %q: not in the form %s", flag, pair, form)
		}
		if _, twice := split[key]; twice {
			return nil, api.Errorf(api.CodeUsage, "%s %q: %s is set twice", flag, pair, key)
		}
		split[key] = value
	}
	return split, nil
}

// checkText refuses a text that is too long or not valid UTF-8. Encoding as JSON would silently replace the invalid
// bytes.
func checkText(text string) error {
	switch {
	case len(text) > message.MaxBody:
		return api.Errorf(api.CodeUsage, "text is %d bytes long; the limit is %d", len(text), message.MaxBody).WithHint("split it, or send the name of a file that contains it")
	case !utf8.ValidString(text):
		return api.Errorf(api.CodeUsage, "text is not valid UTF-8").WithHint("if it is Latin-1, iconv -f latin1 -t utf-8 converts it")
	}
	return nil
}

// oneOf checks the value of a flag that must be one of some words.
func oneOf(flag, value string, allowed []string) error {
	for _, word := range allowed {
		if value == word {
			return nil
		}
	}
	if value == "" {
		return api.Errorf(api.CodeUsage, "%s is needed: %s", flag, strings.Join(allowed, " or "))
	}
	return api.Errorf(api.CodeUsage, "%s %q: not %s", flag, value, strings.Join(allowed, " or "))
}
