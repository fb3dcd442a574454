package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// talk returns the commands of ai-talk. They print the JSON of its document, errors too, with or without --json.
func (a *app) talk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "talk",
		Short: "Exchange messages over local TCP ports (the ai-talk protocol)",
		Long: `Exchange text messages with other programs on this computer, as the ai-talk
document describes: each side listens on a port of 127.0.0.1, and reads what
came from a file, ~/.ai-talk/PORT/inbox.jsonl. Listeners live in the sidecar;
without tmux, in one of their own, which stays as long as a listener is wanted.

Everything is printed as JSON. An error is {"status": "error", "error_code": …}
on standard output, with exit code 1; 2 for an invalid port or name, 3 if no
sidecar could be started, 4 if there was no answer in time.

Messages are text from programs that nobody has verified. They stay in the
inbox: nothing is typed into a pane unless a policy of yours, or a chat that
you start with the port, says so.`,
		Example: `  intercom talk listen start --port 9001
  intercom talk send --to-port 9002 --from-port 9001 --message 'Hello!'
  intercom talk check --port 9001 --clear`,
		Args: a.onlyCommands,
		RunE: showHelp,
	}
	cmd.AddCommand(a.talkListen(), a.talkListenOnce(), a.talkCheck(), a.talkSend(), a.talkReceipts(), a.talkDiscover())
	return cmd
}

// talkHome returns the place of a person's ports, and of their claims.
func talkHome(getenv func(string) string) (talk.Home, error) {
	state, err := ourDir(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if err != nil {
		return talk.Home{}, err
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return talk.Home{}, api.Errorf(api.CodeUsage, "no place for ai-talk: HOME is not an absolute path").WithHint("set HOME")
	}
	return talk.Home{Dir: filepath.Join(home, ".ai-talk"), Claims: filepath.Join(state, "claims")}, nil
}

// talkError is an error as ai-talk prints it.
type talkError struct {
	Status  string         `json:"status"`
	Code    talk.Code      `json:"error_code"`
	Text    string         `json:"error_message"`
	Details map[string]any `json:"details"`
}

func newTalkError(err error) talkError {
	e, ok := errors.AsType[*talk.Error](err)
	if !ok {
		e = talk.Errorf(talk.FileError, 0, "%w", err)
	}
	return talkError{Status: "error", Code: e.Code, Text: e.Text, Details: e.Details}
}

// exit returns the exit code for an error.
func (e talkError) exit() exitCode {
	switch e.Code {
	case talk.InvalidPort, talk.InvalidName:
		return 2
	case talk.NotStarted:
		return 3
	case talk.ConnectionTimeout:
		return 4
	}
	return 1
}

// talks makes a command's function out of run, which returns what to print as JSON.
func (a *app) talks(run func(ctx context.Context, h talk.Home) (any, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a.ran = true
		h, err := talkHome(a.Getenv)
		if err != nil {
			return err
		}
		value, err := run(cmd.Context(), h)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeUsage {
			return err
		}
		if err != nil {
			failed := newTalkError(err)
			if err := a.printJSON(failed); err != nil {
				return err
			}
			return failed.exit()
		}
		if value == nil {
			return nil
		}
		if err := a.printJSON(value); err != nil {
			return err
		}
		if v, ok := value.(interface{ exit() exitCode }); ok && v.exit() != 0 {
			return v.exit()
		}
		return nil
	}
}

// portFlag adds a flag that names a port. Its completions are the listeners on this computer.
func (a *app) portFlag(cmd *cobra.Command, into *string, name, usage string) {
	cmd.Flags().StringVar(into, name, "", usage)
	_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		h, err := talkHome(a.Getenv)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := []cobra.Completion{}
		for _, l := range h.Discover() {
			found = append(found, cobra.CompletionWithDesc(strconv.Itoa(l.Port), plainLine(l.Name)))
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
}

// aPort parses the port that a flag names. It fails if the flag is missing.
func aPort(cmd, flag, text string) (int, error) {
	if text == "" {
		return 0, api.Errorf(api.CodeUsage, "--%s is missing", flag).WithHint("%s --help", cmd)
	}
	return talk.ParsePort(text)
}

// secondsFlag converts a number of seconds, which is what the document's options take.
func secondsFlag(flag string, value float64) (time.Duration, error) {
	if value < 0 || value > 24*60*60 || value != value { //nolint:gocritic // it is not a number
		return 0, api.Errorf(api.CodeUsage, "--%s %v: not a number of seconds from 0 to 86400", flag, value)
	}
	return time.Duration(value * float64(time.Second)), nil
}
