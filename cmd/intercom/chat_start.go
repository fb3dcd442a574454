package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatStart() *cobra.Command {
	var req api.StartChatRequest
	var set []string
	var settings strings.Builder
	for _, s := range api.Settings {
		fmt.Fprintf(&settings, "\n  %-11s %s", s.Key, s.Means)
	}
	cmd := &cobra.Command{
		Use:   "start PANE PANE…",
		Short: "Start a chat among adopted panes",
		Long: `Start a chat among two or more adopted panes, each given by its id or its name.
From now on what one of them says is typed into all others, when their programs
are ready for it. What they showed before stays theirs. A pane is in one chat at
a time.

Settings for --set, with what holds without it:` + settings.String(),
		Example: `  intercom chat start %1 %2 --say 'Introduce yourselves.'
  intercom chat start alice bob carol --name plans --turns 12 --set depth=40`,
		Args:        between(2, -1, "two or more panes"),
		Annotations: map[string]string{takesMany: "yes"},
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Chat, error) {
			req.Panes = args
			if req.Turns < 0 {
				return message.Chat{}, api.Errorf(api.CodeUsage, "--turns %d: less than none", req.Turns)
			}
			var err error
			if req.Set, err = pairs(set); err != nil {
				return message.Chat{}, err
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
			ctx, cancel := within(cmd.Context())
			defer cancel()
			return c.StartChat(ctx, req)
		}, func(c message.Chat) {
			a.say("chat %s started: %s", chatName(c), plainLine(participants(c)))
		}),
	}
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` of the chat")
	cmd.Flags().StringVar(&req.Say, "say", "", "`TEXT` that all but the first get from you, to begin with")
	cmd.Flags().IntVar(&req.Turns, "turns", 0, "end after `N` turns; 0 is no end")
	cmd.Flags().StringArrayVar(&set, "set", nil, "`KEY=VALUE` of a setting; may be given often")
	a.completes(cmd, sessionWords)
	return cmd
}

// pairs splits KEY=VALUE. A key that is given twice is a mistake.
func pairs(set []string) (map[string]string, error) {
	if len(set) == 0 {
		return nil, nil
	}
	split := map[string]string{}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, api.Errorf(api.CodeUsage, "--set %q: not of the form KEY=VALUE", pair)
		}
		if _, twice := split[key]; twice {
			return nil, api.Errorf(api.CodeUsage, "--set %q: %s is set twice", pair, key)
		}
		split[key] = value
	}
	return split, nil
}

// checkText refuses what no message may have. JSON would replace bytes that are no UTF-8
// without a word, so it is said here.
func checkText(text string) error {
	switch {
	case len(text) > message.MaxBody:
		return api.Errorf(api.CodeUsage, "text of %d bytes, the most is %d", len(text), message.MaxBody)
	case !utf8.ValidString(text):
		return api.Errorf(api.CodeUsage, "text is not valid UTF-8")
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
