package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func (a *app) teamSpawn(in *teamFlags) *cobra.Command {
	var req api.SpawnRequest
	cmd := &cobra.Command{
		Use:   "spawn NAME --role ROLE [-- COMMAND ARG...]",
		Short: "Start a teammate in a session of its own",
		Long: `Start a teammate in a new window, tell it its role and its task, and put it into
.team/config.json. Whoever spawns the first teammate of a project leads its
team. A teammate that is idle without a session, or has shut down, can be
spawned again.

` + paragraph("With --require-plan the teammate is told to change nothing before the lead has approved its plan. "+titles("and", heldByHooks)+` are
also kept from it, once intercom hooks install has been run for them; other agents and programs are only told, which the
command then says.`) + `

Of agents only the lead of a team spawns teammates, and only what init.lua
allows (sessions.allow); anything else waits for your approval.`,
		Example: `  intercom team spawn alice --role 'frontend dev' --agent claude
  intercom team spawn bob --role tester --prompt 'Run the tests.' -- ./worker`,
		Args:        nil,
		Annotations: map[string]string{},
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		named := args
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			named = args[:at]
		}
		return between(1, 1, "a name")(cmd, named)
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Role, "role", "", "what it does: `ROLE`")
	flags.StringVar(&req.Agent, "agent", "", "`NAME` of the agent to start: "+strings.Join(knownAgents, ", "))
	flags.StringVar(&req.As, "as", "", "profile by which COMMAND is adopted; else it is recognised")
	flags.StringVar(&req.Prompt, "prompt", "", "its task: `TEXT`")
	flags.BoolVar(&req.RequirePlan, "require-plan", false, "ask for a plan that the lead approves first")
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(knownAgents, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		for _, flag := range []string{"role", "agent", "as"} {
			if err := checkWord(cmd, flag); err != nil {
				return err
			}
		}
		if req.Role == "" {
			return api.Errorf(api.CodeUsage, "--role is missing").WithHint("%s --help", cmd.CommandPath())
		}
		d, _, err := in.find()
		if err != nil {
			return err
		}
		req.Dir, req.Name = d.Path, args[0]
		if req.Command, err = commandOf(args[1:]); err != nil {
			return err
		}
		spawned, err := patiently(cmd.Context(), a.tmuxClient, api.SpawnMember, req)
		if err != nil {
			return err
		}
		if err := a.tell(spawned, spawned.Text); err != nil {
			return err
		}
		if spawned.Note != "" {
			a.note("%s", spawned.Note)
		}
		if spawned.Status == string(api.StartUnrecognised) {
			a.note("no agent is recognised as '%s' yet: %s", req.Name, spawned.Why)
			a.noteUnrecognised(spawned.Session.Name, req.Command, "spawn it")
		}
		if spawned.Status == string(api.StartHeld) {
			return exitCode(api.CodeHeld.Exit())
		}
		return nil
	})
	return cmd
}
