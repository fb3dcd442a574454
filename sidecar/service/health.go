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

// healthAfter is the key in init.lua's health that says how long a turn goes on before the sidecar asks about
// it.
const healthAfter = "after"

// leastHealth is the minimum for healthAfter: with shorter intervals a caller would read nothing but the
// answers.
const leastHealth = time.Second

// checkHealth returns an error for settings that health does not have.
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

// healthOf returns after how long a turn is asked about, 0 for never.
func healthOf(settings policy.Settings) time.Duration {
	value, set := settings.Health[healthAfter]
	if !set {
		return relay.DefaultHealth
	}
	after, _ := time.ParseDuration(value) // "off" gives 0; other values were checked
	return after
}

// settings has the settings of init.lua that have a default, each with a function that returns its value as a
// person writes it.
var settings = map[string]func(policy.Settings) string{
	"computer": func(s policy.Settings) string { return cmp.Or(s.Computer, message.LocalComputer) },
	"health." + healthAfter: func(s policy.Settings) string {
		return cmp.Or(message.ShowDuration(healthOf(s)), "off")
	},
}

// SettingNames returns the names that Setting knows.
func SettingNames() []string { return slices.Sorted(maps.Keys(settings)) }

// Setting returns the value of a setting according to init.lua; name is one of SettingNames.
func Setting(s policy.Settings, name string) string { return settings[name](s) }
