package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// healthAfter is the setting in init.lua's health of how long a turn goes on before it is asked about.
const healthAfter = "after"

// leastHealth is the least that it may be set to: more often than that the answers would be all that
// a caller reads.
const leastHealth = time.Second

// checkHealth refuses what health cannot be set to.
func checkHealth(settings map[string]string) error {
	for key, value := range settings {
		if key != healthAfter {
			return fmt.Errorf("health: no setting %q; there is %s", key, healthAfter)
		}
		if after, err := time.ParseDuration(value); value != "off" && (err != nil || after < leastHealth) {
			return fmt.Errorf("health.after is %q; it must be at least %s, or false", value, leastHealth)
		}
	}
	return nil
}

// healthOf is after how long a turn is asked about, 0 for never.
func healthOf(settings policy.Settings) time.Duration {
	value, set := settings.Health[healthAfter]
	if !set {
		return relay.DefaultHealth
	}
	after, _ := time.ParseDuration(value) // "off" is none; the rest was checked
	return after
}

// settings are those of init.lua that have a value of their own where it says nothing, as a person
// writes them.
var settings = map[string]func(policy.Settings) string{
	"computer": func(s policy.Settings) string { return cmp.Or(s.Computer, message.LocalComputer) },
	"health." + healthAfter: func(s policy.Settings) string {
		return cmp.Or(message.ShowDuration(healthOf(s)), "off")
	},
}

// SettingNames are those that Setting knows.
func SettingNames() []string { return slices.Sorted(maps.Keys(settings)) }

// Setting is the value that a setting has by what init.lua says; the name is one of SettingNames.
func Setting(s policy.Settings, name string) string { return settings[name](s) }
