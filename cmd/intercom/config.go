package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
)

// config returns the commands for scripts that want to know what init.lua sets.
func (a *app) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show what init.lua sets",
		Hidden:  true,
		Long:    `Show what init.lua sets, and what holds where it says nothing.`,
		Example: `  intercom config get health.after`,
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.configGet())
	return cmd
}

// setting is what `config get` prints.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (a *app) configGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Print the value of one setting",
		Long: `Print the value of one setting, whether init.lua sets it or not:

` + settingsList(),
		Example: `  intercom config get health.after`,
		Args:    between(1, 1, "a setting"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (setting, error) {
			value, err := a.setting(cmd.Context(), args[0])
			return setting{args[0], value}, err
		}, func(s setting) { a.say("%s", plainLine(s.Value)) }),
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(service.SettingNames(), cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func settingsList() string { return "  " + strings.Join(service.SettingNames(), "\n  ") }

// setting returns the value of a setting of init.lua.
func (a *app) setting(ctx context.Context, name string) (string, error) {
	if names := service.SettingNames(); !slices.Contains(names, name) {
		return "", api.Errorf(api.CodeUsage, "no setting %q", name).WithHint("they are %s", strings.Join(names, ", "))
	}
	_, set, end, err := a.compiled(ctx, nil)
	if err != nil {
		return "", err
	}
	defer end()
	if err := service.CheckSettings(set.Settings); err != nil {
		return "", api.Errorf(api.CodeFailed, "%s", set.Lines.Wrong(err)).WithHint("intercom policy check lists all problems")
	}
	return service.Setting(set.Settings, name), nil
}
