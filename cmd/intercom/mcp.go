package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/mcp"
)

// mostPrefix is the maximum length of a prefix of tool names: with it, a name may have 64 characters at most.
const mostPrefix = 32

func (a *app) mcp() *cobra.Command {
	var prefix, role string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give an agent tools to talk to others (MCP)",
		Long: `Serve the Model Context Protocol on standard input and output: tools with which
an agent starts other agents, sends them messages, and reads what came for it.
An agent starts this by itself once mcp install has told it to.

The agent that calls is known by the pane from which its processes descend. One
that is recognised in a pane which nobody has adopted is adopted by its first
call. Of any other nothing is proven: its messages say so.

With --tool-prefix teleclaude__ the tools have the names of the collaboration
document. --role lead or teammate gives the team tools of that role alone.`,
		Example: `  intercom mcp
  intercom mcp --tool-prefix teleclaude__ --role lead`,
		Args: a.onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			if strings.ContainsFunc(prefix, func(r rune) bool { return !isToolRune(r) }) || len(prefix) > mostPrefix {
				return api.Errorf(api.CodeUsage, "--tool-prefix %q: up to %d letters, digits, _ and - may stand before the name of a tool", prefix, mostPrefix)
			}
			roles := []string{string(mcp.Lead), string(mcp.Teammate)}
			if role != "" && !slices.Contains(roles, role) {
				return oneOf("--role", role, roles)
			}
			server := mcp.Server{
				Version: built().Version, Prefix: prefix, Role: mcp.Role(role), Connect: a.client, Pane: a.Getenv("TMUX_PANE"), Agents: knownAgents, Tools: a.fileTools(),
			}
			return server.Serve(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
	cmd.Flags().StringVar(&prefix, "tool-prefix", "", "`PREFIX` before the name of each tool")
	cmd.Flags().StringVar(&role, "role", "", "`ROLE` in the team: lead or teammate")
	cmd.AddCommand(a.mcpInstall(), a.mcpUninstall())
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"lead", "teammate"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// isToolRune reports whether every client accepts a character in the name of a tool.
func isToolRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// Commands that work on files are tools, too: a tool returns what its command prints.

// readWithin is how long a client may take to read what a tool is about to remove; after that, it is put back.
const readWithin = 10 * time.Second

var errUnread = errors.New("its client did not read it")

// runs makes a tool of a command line. What the command removes is gone only once the client has read it.
func runs[A any](a *app, t mcp.Tool, line func(in A) []string) mcp.Tool {
	return mcp.Func(t, func(ctx context.Context, call *mcp.Call, in A) (any, error) {
		var out strings.Builder
		e := a.env
		e.Args, e.Stdin, e.Stdout, e.Stderr, e.Agent, e.Key = slices.Insert(line(in), 0, "--json"), strings.NewReader(""), &out, io.Discard, call.Agent(), ""
		printed, read := make(chan struct{}), make(chan bool, 1)
		e.Taken = func() error {
			close(printed)
			select {
			case has := <-read:
				if has {
					return nil
				}
			case <-time.After(readWithin):
			}
			return errUnread
		}
		ended := make(chan error, 1)
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, err := execute(ctx, e)
			ended <- err
		}()
		var err error
		select {
		case <-printed:
			call.WhenRead(func(has bool) {
				read <- has
				<-over // what was not read is put back before the program ends
			})
			return mcp.Text(strings.TrimSpace(out.String())), nil
		case err = <-ended:
		}
		text := strings.TrimSpace(out.String())
		if code, ok := errors.AsType[exitCode](err); ok && text == "" {
			return nil, api.Errorf(api.CodeFailed, "it ended with exit code %d", code)
		} else if err != nil && !ok {
			return nil, err
		}
		return mcp.Text(text), nil
	})
}

// haveLogged has a refusal written into the log of the sidecar, if one runs: nobody sees what the tools tell an agent.
func (a *app) haveLogged(ctx context.Context, what string, refused *api.Error) {
	if c, _, running, err := a.running(ctx); err == nil && running {
		_, _ = quickly(ctx, c, api.Refused, api.RefusedOf(what, refused.Text))
	}
}

// optional returns a flag with its value for a command line; nothing if the value is empty.
func optional(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name + "=" + value}
}
