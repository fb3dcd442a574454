package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Setting is one KEY of StartChatRequest.Set.
type Setting struct {
	Key     string
	Means   string // for people, with the default
	apply   func(*message.Limits, string) bool
	shows   func(message.Limits) string // "" if it is not set
	usual   string                      // the default, as shows writes it
	accepts string
	values  []string // all possible values, if they are few
}

// Of returns the setting's value in limits, as a person would write it; "" if the default holds.
func (s Setting) Of(limits message.Limits) string {
	if v := s.shows(limits); v != s.usual {
		return v
	}
	return ""
}

// Values returns all possible values of the setting if they are few enough to list, else nil.
func (s Setting) Values() []string { return s.values }

const (
	// MaxCount is the highest value of a setting that counts something.
	MaxCount = 1_000_000_000
	// MaxDuration is the longest time that a setting may have: more than a year.
	MaxDuration = 10_000 * time.Hour
	// minDuration is the shortest time that a setting may have.
	minDuration = time.Second
)

// Settings lists all settings of a chat, in the order in which help shows them.
var Settings = []Setting{
	count("depth", "20", "agent turns since a person's words, by cause, before a pause (20)",
		func(l *message.Limits) *int { return &l.Depth }),
	count("rate", "20", "deliveries per minute to one pane before a pause (20)",
		func(l *message.Limits) *int { return &l.Rate }),
	count("bytes", "4194304", "bytes per hour to one pane before a pause (4194304)",
		func(l *message.Limits) *int { return &l.Bytes }),
	count("tokens", "", "tokens that its turns use before a pause: fresh and output (no limit)",
		func(l *message.Limits) *int { return &l.Tokens }),
	{
		Key: "expire", Means: "how long a message may wait for a safe moment before it expires (1h)",
		apply: func(l *message.Limits, v string) bool {
			var ok bool
			l.Expire, ok = parseDuration(v)
			return ok
		},
		shows: func(l message.Limits) string { return message.ShowDuration(l.Expire) }, usual: "1h",
		accepts: "a time of at least 1s, like 30m or 2h, and at most 10000h",
	},
	{
		Key: "away", Means: "pause after this long with nobody at a terminal, or off (off)",
		apply: func(l *message.Limits, v string) bool {
			if l.Off.Away = v == "off"; l.Off.Away {
				l.Away = 0
				return true
			}
			var ok bool
			l.Away, ok = parseDuration(v)
			return ok
		},
		shows:   func(l message.Limits) string { return message.ShowDuration(l.Away) },
		accepts: "a time of at least 1s, like 30m or 2h, and at most 10000h, nor off",
	},
	{
		Key: "line_break", Means: "replaces line breaks for programs that read lines (\" ⏎ \")",
		apply: func(l *message.Limits, v string) bool {
			l.LineBreak = v
			return v != "" && !strings.ContainsFunc(v, isControl)
		},
		shows: func(l message.Limits) string { return l.LineBreak }, usual: " ⏎ ",
		accepts: "text without control characters",
	},
	{
		Key: "header", Means: "attribution, or both to add the header of a single message (attribution)",
		apply: func(l *message.Limits, v string) bool { l.Header = v; return v == "attribution" || v == "both" },
		shows: func(l message.Limits) string { return l.Header }, usual: "attribution",
		accepts: "attribution or both", values: []string{"attribution", "both"},
	},
	{
		Key: "door", Means: "auto: use an agent's own inbox where it has one; type: always type (type)",
		apply: func(l *message.Limits, v string) bool {
			l.Door = v
			return v == message.DoorAuto || v == message.DoorType
		},
		shows: func(l message.Limits) string { return l.Door }, usual: message.DoorType,
		accepts: "auto or type", values: []string{message.DoorAuto, message.DoorType},
	},
	{
		Key: "deliver", Means: "mid-turn: with door=auto also while the agent works, read after its next tool call; idle: never (idle)",
		apply: func(l *message.Limits, v string) bool {
			l.Deliver = v
			return v == message.DeliverIdle || v == message.DeliverMidTurn
		},
		shows: func(l message.Limits) string { return l.Deliver }, usual: message.DeliverIdle,
		accepts: "idle or mid-turn", values: []string{message.DeliverIdle, message.DeliverMidTurn},
	},
	{
		Key: "words", Means: "last: what an agent says after its last tool call; all: also between calls (last)",
		apply: func(l *message.Limits, v string) bool { l.Words = v; return v == "last" || v == "all" },
		shows: func(l message.Limits) string { return l.Words }, usual: "last",
		accepts: "last or all", values: []string{"last", "all"},
	},
	{
		Key: "person", Means: "on: also pass on what a person types into a pane by hand (off)",
		apply: func(l *message.Limits, v string) bool {
			l.Person, l.Off.Person = v == "on", v == "off"
			return l.Person || l.Off.Person
		},
		shows: func(l message.Limits) string {
			if l.Person {
				return "on"
			}
			return ""
		},
		accepts: "on or off", values: []string{"on", "off"},
	},
	{
		Key: "approve", Means: "yes: what agents say awaits your approval; or NAME,…: what these say does (no)",
		apply: func(l *message.Limits, v string) bool {
			l.Approve = v
			if l.Off.Approve = v == "no"; l.Off.Approve {
				l.Approve = ""
			}
			return !strings.ContainsFunc(v, isControl) && !slices.ContainsFunc(strings.Split(v, ","), func(name string) bool {
				return strings.TrimSpace(name) == ""
			})
		},
		shows:   func(l message.Limits) string { return l.Approve },
		accepts: "yes, no, or names of participants separated by commas",
	},
	{
		Key: "stall", Means: "pause once nothing new is said: agents, in chats of agents only; on; off (agents)",
		apply: func(l *message.Limits, v string) bool {
			l.Stall = v
			return v == "agents" || v == "on" || v == "off"
		},
		shows: func(l message.Limits) string { return l.Stall }, usual: "agents",
		accepts: "agents, on or off", values: []string{"agents", "on", "off"},
	},
}

// ParseSettings converts the settings of a request to limits. An error has CodeUsage and names the key.
func ParseSettings(set map[string]string) (message.Limits, error) {
	return ApplySettings(message.Limits{}, set)
}

// ApplySettings is ParseSettings for a chat that already has limits: a setting that is not in set stays as it
// is.
func ApplySettings(limits message.Limits, set map[string]string) (message.Limits, error) {
	for _, given := range slices.Sorted(maps.Keys(set)) {
		key := cmp.Or(former[given], given)
		i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Key == key })
		if i < 0 {
			return message.Limits{}, Errorf(CodeUsage, "no setting %q", given).WithHint("settings of a chat: %s", settingKeys())
		}
		if !Settings[i].apply(&limits, set[given]) {
			return message.Limits{}, Errorf(CodeUsage, "setting %q: %q is not %s", given, set[given], Settings[i].accepts)
		}
	}
	return limits, nil
}

// former maps the old names of renamed settings to the new ones.
var former = map[string]string{"empty": "stall"}

func settingKeys() string {
	keys := make([]string, len(Settings))
	for i, s := range Settings {
		keys[i] = s.Key
	}
	return strings.Join(keys, ", ")
}

// count returns a setting that counts something.
func count(key, usual, means string, field func(*message.Limits) *int) Setting {
	return Setting{
		Key: key, Means: means, usual: usual, accepts: fmt.Sprintf("a number of at least 1 and at most %d", MaxCount),
		apply: func(l *message.Limits, v string) bool {
			n, err := strconv.Atoi(v)
			*field(l) = n
			return err == nil && n >= 1 && n <= MaxCount
		},
		shows: func(l message.Limits) string {
			if n := *field(&l); n != 0 {
				return strconv.Itoa(n)
			}
			return ""
		},
	}
}

func parseDuration(v string) (time.Duration, bool) {
	d, err := time.ParseDuration(v)
	return d, err == nil && d >= minDuration && d <= MaxDuration
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
