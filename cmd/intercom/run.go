package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// env is all that a command sees of the world around it, so that tests can run it inside
// their own process.
type env struct {
	Args    []string            // required: without the program's name
	Stdin   io.Reader           // required
	Stdout  io.Writer           // required
	Stderr  io.Writer           // required
	Getenv  func(string) string // required
	Environ func() []string     // environment that a sidecar may inherit from; nil: none

	// Published asks a tmux server where its sidecar listens; "" if it does not say. If Published is nil, only the
	// computed place counts.
	Published func(ctx context.Context, server string) (string, error)
	// Executable is the program to start as the sidecar; "" means this one.
	Executable string
	// Width is how many columns there are to print in; 0 means as many as Stdout says.
	Width int
	// Succession is how long readers of events wait for the next sidecar after theirs has ended; 0 means three seconds.
	Succession time.Duration
	// HookTime is how long a hook may take, and how long its agent may take to write; 0 means what an agent can wait.
	HookTime time.Duration
	// OthersTime is how long a sidecar that another process started may take to answer; 0 means as long as one of ours.
	OthersTime time.Duration
	// Key is the client of tmux at which a person pressed the key that runs this; "" if none did.
	Key string
	// Agent is set if an agent's MCP server runs the command for it.
	Agent *api.AgentCall
	// Taken waits until the recipient has what was printed; an error says that it does not have it. If Taken is nil,
	// what was printed counts as taken.
	Taken func() error
}

// app is one run of the program, with the flags that all commands have.
type app struct {
	env
	json   bool
	server string // value of --server
	named  bool   // --server was given
	ran    bool   // a command has begun: its errors are not those of wrong usage

	misnamed error // help was asked for a command that does not exist

	silence *time.Timer // fires if the command prints nothing for long; nil: nobody looks
}

// run runs the command that the arguments name and returns the exit code: 0 done, 1 failed,
// refused, not found or expired, 2 wrong usage, 3 no sidecar and none could be started, 4 no
// answer in time or a delivery uncertain, 5 held.
func run(ctx context.Context, e env) int {
	cmd, err := execute(ctx, e)
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	told := api.AsError(err)
	if _, shown := errors.AsType[*shownError](err); shown {
		advise(e.Stderr, told.Hint)
		return told.Code.Exit()
	}
	if told.Hint == "" && !errors.Is(err, errUndone) {
		told = told.WithHint("%s", nextStep(cmd, told.Code))
	}
	complain(e.Stderr, told)
	return told.Code.Exit()
}

// execute runs the command that the arguments name and returns it. The error is an *api.Error which nobody has
// printed yet, a *shownError, or an exitCode.
func execute(ctx context.Context, e env) (*cobra.Command, error) {
	a := &app{env: e}
	root := a.root(e.Args...)
	root.SetArgs(e.Args)
	cmd, err := root.ExecuteContextC(ctx)
	err = cmp.Or(err, a.misnamed)
	if err == nil {
		return cmd, nil
	}
	if _, ok := errors.AsType[exitCode](err); ok {
		return cmd, err
	}
	if _, ok := errors.AsType[*shownError](err); ok {
		return cmd, err
	}
	told := api.AsError(err)
	if !a.ran && told.Code != api.CodeUsage {
		told = &api.Error{Text: err.Error(), Code: api.CodeUsage}
	}
	if a.Agent != nil && told.Code == api.CodeRefused && !told.FromSidecar() {
		a.haveLogged(ctx, cmd.CommandPath(), told)
	}
	return cmd, told
}

// nextStep returns the hint for an error that has none.
func nextStep(cmd *cobra.Command, code api.Code) string {
	if code == api.CodeUsage {
		return cmd.CommandPath() + " --help"
	}
	return "intercom doctor looks for problems"
}

// exitCode is the error of a command that has already said why it ends so.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// shownError is an error that a command has printed itself, in the words of a document. Its hint is ours, and not
// printed yet.
type shownError struct{ of *api.Error }

func (e *shownError) Error() string { return e.of.Text }

// Unwrap returns the error that was shown.
func (e *shownError) Unwrap() error { return e.of }

// complain prints an error as all commands do. A message that was accepted and waits is not an error, nor is a person's
// no: these are notes, though the exit code is not 0.
func complain(w io.Writer, err *api.Error) {
	what := "error"
	if err.Code == api.CodeHeld || errors.Is(err, errUndone) {
		what = "note"
	}
	fmt.Fprintf(w, "intercom: %s: %s\n", what, plainLine(err.Text))
	advise(w, err.Hint)
}

// advise prints the next step after an error, if there is one.
func advise(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "intercom: hint: %s\n", plainLine(hint))
	}
}

// topCommand is a command below the root.
type topCommand struct {
	name  string
	build func() *cobra.Command
}

// commands returns the commands below root, except those that helpers adds.
func (a *app) commands() []topCommand {
	return []topCommand{
		{"up", a.up},
		{"down", a.down},
		{"status", a.status},
		{"doctor", a.doctor},
		{"version", a.version},
		{"adopt", a.adopt},
		{"release", a.release},
		{"name", a.rename},
		{"explain", a.explain},
		{"chat", a.chat},
		{"ask", a.askPane},
		{"send", a.send},
		{"peers", a.peers},
		{"computers", a.computers},
		{"inbox", a.inbox},
		{"log", a.log},
		{"ui", a.ui},
		{"brakes", a.brakes},
		{"policy", a.policy},
		{"session", a.session},
		{"talk", a.talk},
		{"aea", a.aea},
		{"team", a.team},
		{"link", a.link},
		{"compat", a.compat},
		{"header", a.header},
		{"config", a.config},
		{"man", a.man},
		{"mcp", a.mcp},
		{"hooks", a.hooks},
		{"hook", a.hook},
		{"record", a.record},
		{"plugin", a.plugin},
		{"uninstall", a.uninstall},
		{"demo", a.demo},
		{"sidecar", a.sidecar},
		{"guard", a.guard},
		{"persona", a.persona},
		{"policy-worker", a.policyWorker},
		{"session-exec", a.sessionExec},
	}
}

// asked returns the first word of a command line that belongs to no flag of all commands. If it names a command, only
// that one is built. A flag that asked does not know names none, so the whole program is built.
func asked(words []string) string {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--json" || strings.HasPrefix(word, "--server="):
		case word == "--server":
			i++
		default:
			return word
		}
	}
	return ""
}

// root returns the whole program: all commands, or only the one that a command line asks for, since building them all
// takes a good part of the time in which a program starts.
func (a *app) root(line ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "intercom",
		Short: "Connect the programs in tmux panes: what one says, the others hear",
		Long: `Connect the programs in tmux panes: what one says, the others hear.

A sidecar, started by the first command that needs it, reads from and types into
the panes that you adopt, and no others.

Exit codes: 0 done, 1 failed, refused, not found or expired, 2 wrong usage, 3 no
sidecar and none could be started, 4 no answer in time or a delivery uncertain,
5 held.

Small tools with a --help of their own: config, header, persona, record.`,
		Example: `  intercom demo
  intercom adopt %1 --as line
  intercom adopt %2 --as line
  intercom chat start %1 %2 --say 'Introduce yourselves.'`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		Args:               a.onlyCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			if show, _ := cmd.Flags().GetBool("version"); show {
				return a.version().RunE(cmd, args)
			}
			return cmd.Help()
		},
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { a.named = cmd.Flags().Changed("server") },
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON value and nothing else")
	root.PersistentFlags().StringVar(&a.server, "server", "", "`SOCKET` of the tmux server; else $INTERCOM_SERVER, else that of $TMUX")
	root.Flags().Bool("version", false, "show the version, like intercom version")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			if a.misnamed = cmd.ValidateArgs(words); a.misnamed != nil { // as without --help
				return
			}
		}
		help(cmd, args)
	})
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	all, name := a.commands(), asked(line)
	if i := slices.IndexFunc(all, func(c topCommand) bool { return c.name == name }); i >= 0 {
		root.CompletionOptions.DisableDefaultCmd = true
		root.AddCommand(all[i].build())
		return root
	}
	for _, c := range all {
		root.AddCommand(c.build())
	}
	a.helpers(root)
	return root
}

// completionFiles are the files in which each shell looks for our completion script.
var completionFiles = map[string]string{
	"bash":       "~/.local/share/bash-completion/completions/intercom",
	"zsh":        "\"${fpath[1]}/_intercom\"",
	"fish":       "~/.config/fish/completions/intercom.fish",
	"powershell": "intercom.ps1",
}

// helpers adds the commands that every program of this kind has.
func (a *app) helpers(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args, cmd.RunE, cmd.Example = a.onlyCommands, showHelp, "  intercom completion bash > "+completionFiles["bash"]
			for _, shell := range cmd.Commands() {
				shell.Args, shell.Example = between(0, 0, "no arguments"), "  "+shell.CommandPath()+" > "+completionFiles[shell.Name()]
				shell.Long = "Print the script with which " + shell.Name() + " completes commands, flags, and the names\nof panes and chats."
			}
		case "help":
			cmd.Example = "  intercom help chat start"
			cmd.Args = func(_ *cobra.Command, words []string) error {
				found, unknown, _ := root.Find(words)
				return a.onlyCommands(found, unknown)
			}
		}
	}
}

// takesText marks a command with an argument that is free text.
const takesText = "takes-text"

// showHelp is the function of a command that only has others below it.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// onlyCommands refuses the name of a command that does not exist.
func (a *app) onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := api.Errorf(api.CodeUsage, "no command %q", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], "intercom "))
	if all := below(cmd, args[0]); len(all) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(all, ", or "))
	}
	if near := nearCommand(cmd, args[0]); near != "" {
		return err.WithHint("did you mean %s %s?", cmd.CommandPath(), near)
	}
	return err.WithHint("%s --help", cmd.CommandPath())
}

// do makes a command's function out of ask, which returns what to print: as JSON, or for people with show. Both get the
// whole value.
func do[T any](a *app, ask func(cmd *cobra.Command, args []string) (T, error), show func(T)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		defer a.still(cmd.CommandPath())()
		value, err := ask(cmd, args)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(value)
		}
		show(value)
		return nil
	}
}

// note tells a person something beside what a command prints.
func (a *app) note(format string, args ...any) {
	a.told()
	fmt.Fprintf(a.Stderr, "intercom: note: %s\n", plainLine(fmt.Sprintf(format, args...)))
}

// warn tells a person of something that does not work as it should.
func (a *app) warn(text string) {
	fmt.Fprintf(a.Stderr, "intercom: warning: %s\n", plainLine(text))
}

// between checks the number of arguments, and that none is empty; words describes them.
func between(least, most int, words string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := api.Errorf(api.CodeUsage, "%s takes %s, and got %s", cmd.CommandPath(), words, several(len(args), "argument"))
		if len(args) >= least && (most < 0 || len(args) <= most) {
			empty := slices.IndexFunc(args, func(arg string) bool { return strings.TrimSpace(arg) == "" })
			if empty < 0 {
				return nil
			}
			err = api.Errorf(api.CodeUsage, "%s: argument %d is empty", cmd.CommandPath(), empty+1)
		}
		if len(args) > most && most > 0 && cmd.Annotations[takesText] != "" {
			return err.WithHint("put a text of several words in quotes, as the last argument: '%s'", plainLine(strings.Join(args[most-1:], " ")))
		}
		if cmd.HasExample() {
			first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
			return err.WithHint("for example: %s", first)
		}
		return err.WithHint("%s --help", cmd.CommandPath())
	}
}
