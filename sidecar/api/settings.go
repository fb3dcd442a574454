package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Setting is one KEY of StartChatRequest.Set.
type Setting struct {
	Key     string
	Means   string // for people, with the default
	apply   func(*message.Limits, string) bool
	accepts string
}

// Settings are all that a chat knows, in the order in which help shows them.
var Settings = []Setting{
	{
		Key: "depth", Means: "agent turns, by cause, between a person's words and the pause (20)",
		apply: count(func(l *message.Limits) *int { return &l.Depth }), accepts: "a number of at least 1",
	},
	{
		Key: "rate", Means: "deliveries a minute to one pane before the pause (20)",
		apply: count(func(l *message.Limits) *int { return &l.Rate }), accepts: "a number of at least 1",
	},
	{
		Key: "bytes", Means: "bytes an hour to one pane before the pause (4194304)",
		apply: count(func(l *message.Limits) *int { return &l.Bytes }), accepts: "a number of at least 1",
	},
	{
		Key: "line_break", Means: "what stands for a line break where a program reads lines (\" ⏎ \")",
		apply: func(l *message.Limits, v string) bool {
			l.LineBreak = v
			return v != "" && !strings.ContainsFunc(v, isControl)
		},
		accepts: "text without control characters",
	},
	{
		Key: "header", Means: "attribution, or both to add the header of a single message (attribution)",
		apply:   func(l *message.Limits, v string) bool { l.Header = v; return v == "attribution" || v == "both" },
		accepts: "attribution or both",
	},
}

// ParseSettings turns the settings of a request into limits. An error has the code
// CodeUsage and names the key.
func ParseSettings(set map[string]string) (message.Limits, error) {
	var limits message.Limits
	for _, key := range slices.Sorted(maps.Keys(set)) {
		i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Key == key })
		if i < 0 {
			return message.Limits{}, Errorf(CodeUsage, "no setting %q", key).WithHint("settings of a chat: %s", settingKeys())
		}
		if !Settings[i].apply(&limits, set[key]) {
			return message.Limits{}, Errorf(CodeUsage, "setting %q: %q is not %s", key, set[key], Settings[i].accepts)
		}
	}
	return limits, nil
}

func settingKeys() string {
	keys := make([]string, len(Settings))
	for i, s := range Settings {
		keys[i] = s.Key
	}
	return strings.Join(keys, ", ")
}

// count makes a setter of a field that counts something.
func count(field func(*message.Limits) *int) func(*message.Limits, string) bool {
	return func(l *message.Limits, v string) bool {
		n, err := strconv.Atoi(v)
		*field(l) = n
		return err == nil && n >= 1
	}
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
