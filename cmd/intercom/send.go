package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	sendTimeout = 10 * time.Second // without --wait
	waitTimeout = time.Hour        // with it: as long as a message that is held lives
	replyGrace  = 5 * time.Second  // for a sidecar to say that the time is over
)

func (a *app) send() *cobra.Command {
	var file, wait, id string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "send PEER TEXT",
		Short: "Send one message to one pane",
		Long: `Send one message to one adopted pane, by its name or id, and wait until its
program has taken it. Prints the id of the message and what is known of it then.

  --wait submitted   wait until the program took it, up to an hour
  --wait answered    and until it has answered, whose words are printed

Exit codes: 0 the program provably took it (with --wait answered: and answered),
1 failed or expired, 4 uncertain or no proof in time, 5 held: it goes when the
pane is free for it, as does one that is queued behind such. The text is at most 1 MiB. Text that begins with - goes
after --, or into a file; --file - reads it from the standard input.`,
		Example: `  intercom send bob 'How far are you?' --wait answered --timeout 5m
  intercom send bob -- '- a text that begins with a dash'`,
		Args:        between(1, 2, "a peer and a text"),
		Annotations: map[string]string{takesText: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			var sent api.Sent
			wants := api.Wait(wait)
			err := do(a, func(cmd *cobra.Command, args []string) (api.Sent, error) {
				req := api.SendRequest{To: args[0], Wait: wants, Timeout: timeout}
				var err error
				if req.ID, err = messageID(id); err != nil {
					return api.Sent{}, err
				}
				switch {
				case wait == "":
					wants, req.Wait = api.WaitSubmitted, api.WaitSubmitted
				default:
					if err := oneOf("--wait", wait, []string{string(api.WaitSubmitted), string(api.WaitAnswered)}); err != nil {
						return api.Sent{}, err
					}
				}
				if !cmd.Flags().Changed("timeout") {
					req.Timeout = sendTimeout
					if wait != "" {
						req.Timeout = waitTimeout
					}
				}
				if req.Timeout < 0 {
					return api.Sent{}, api.Errorf(api.CodeUsage, "--timeout %v: less than none", timeout)
				}
				if req.Text, err = a.textOf(args[1:], file); err != nil {
					return api.Sent{}, err
				}
				sent, err = a.sendOne(cmd.Context(), req)
				return sent, err
			}, a.showSent)(cmd, args)
			if err != nil {
				return err
			}
			return a.judge(sent, wants)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`, or from the standard input with -")
	cmd.Flags().StringVar(&wait, "wait", "", "wait for `STATE`: submitted or answered")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most `D`, like 90s (10s without --wait, 1h with it)")
	cmd.Flags().StringVar(&id, "id", "", "`UUID` of the message: sent twice with the same one, it goes once")
	a.completes(cmd, sessionWords)
	_ = cmd.MarkFlagFilename("file")
	_ = cmd.RegisterFlagCompletionFunc("wait",
		cobra.FixedCompletions([]string{string(api.WaitSubmitted), string(api.WaitAnswered)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// messageID is the id that was given, or a fresh one: made here and not by the sidecar, so
// that it is known whatever becomes of the request.
func messageID(given string) (message.ID, error) {
	if given == "" {
		return message.NewID(), nil
	}
	id, err := message.ParseID(given)
	if err != nil {
		return "", api.Errorf(api.CodeUsage, "--id: %w", err)
	}
	return id, nil
}

// textOf is the text of a message: the argument, a file, or the standard input.
func (a *app) textOf(args []string, file string) (string, error) {
	var text string
	switch {
	case len(args) > 0 && file != "":
		return "", api.Errorf(api.CodeUsage, "a text and --file: only one can be sent")
	case len(args) > 0:
		text = args[0]
	case file == "":
		return "", api.Errorf(api.CodeUsage, "no text").WithHint("give it as the second argument, or with --file")
	default:
		var err error
		if text, err = a.read(file); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", api.Errorf(api.CodeUsage, "the text is empty")
	}
	return text, checkText(text)
}

// read reads a file, or with - the standard input, up to a little more than a message may have.
func (a *app) read(file string) (string, error) {
	from := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", api.Errorf(api.CodeUsage, "--file: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, message.MaxBody+1))
	if err != nil {
		return "", fmt.Errorf("--file %q: %w", file, err)
	}
	if len(text) > message.MaxBody {
		return "", api.Errorf(api.CodeUsage, "--file %q: more than %d bytes, the most that a message may have", file, message.MaxBody)
	}
	return string(text), nil
}

func (a *app) sendOne(ctx context.Context, req api.SendRequest) (api.Sent, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return api.Sent{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, req.Timeout+replyGrace)
	defer cancel()
	sent, err := c.Send(ctx, req)
	err = aboutPane(err, req.To)
	if told, ok := errors.AsType[*api.Error](err); ok && (told.Code == api.CodeUncertain || told.Code == api.CodeTimeout) {
		return sent, told.WithHint("it may have been sent: intercom log %s", req.ID)
	}
	return sent, err
}

func (a *app) showSent(s api.Sent) {
	line := fmt.Sprintf("%s %s", s.Message, s.Receipt.State)
	switch {
	case s.Receipt.Reason != "":
		line += ": " + string(s.Receipt.Reason)
	case s.Behind != "":
		line += " behind one that is held: " + string(s.Behind)
	}
	a.say("%s", plainLine(line))
	if s.Receipt.State == message.Answered {
		a.say("%s", plain(s.Receipt.Words))
	}
}

// judge says what a receipt means to a script. What is not proven never ends with 0.
func (a *app) judge(s api.Sent, wants api.Wait) error {
	told := &api.Error{}
	switch r := s.Receipt; r.State {
	case message.Answered:
		return nil
	case message.Submitted:
		if wants != api.WaitAnswered {
			return nil
		}
		told = api.Errorf(api.CodeTimeout, "no answer in time").WithHint("intercom log %s shows it when it comes", s.Message)
	case message.Queued:
		if s.Behind == "" {
			return api.Errorf(api.CodeTimeout, "not taken in time: still %s", r.State).WithHint("intercom log %s", s.Message)
		}
		told = api.Errorf(api.CodeHeld, "queued behind a message that is held: %s", s.Behind).
			WithHint("it goes after that one; intercom log %s", s.Message)
	case message.Held:
		told = api.Errorf(api.CodeHeld, "held: %s", r.Reason).WithHint("it goes as soon as that has passed; intercom log %s", s.Message)
		if r.Reason == message.Stopped {
			told = told.WithHint("intercom chat resume --all")
		}
	case message.Failed, message.Expired:
		told = api.Errorf(api.CodeFailed, "%s: %s", r.State, r.Reason)
	case message.Uncertain:
		told = api.Errorf(api.CodeUncertain, "uncertain: %s", r.Reason).WithHint("look at the pane: it may have the text. It is not typed again")
	default:
		told = api.Errorf(api.CodeTimeout, "not taken in time: still %s", r.State).WithHint("intercom log %s", s.Message)
	}
	return told
}
