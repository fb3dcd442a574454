package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	sendTimeout = 10 * time.Second // without --wait
	waitTimeout = time.Hour        // with it: as long as a message that is held lives
	replyGrace  = 5 * time.Second  // for a sidecar to say that the time is over
	tellAfter   = time.Second      // after so long, a person is told what a command waits for

	resumeAll = "intercom chat resume --all" // the command that resumes what a person has stopped
)

func (a *app) send() *cobra.Command {
	var file, wait, id, kind, priority, subject string
	var tags []string
	var timeout time.Duration
	var answer bool
	var direct, closeLink bool
	cmd := &cobra.Command{
		Use:   "send PEER TEXT",
		Short: "Send one message to one pane",
		Long: `Send one message to one adopted pane, by its name or id, and wait until its
program has taken it. Prints the message's id, its receipt, and under whose name
it goes.

  --wait submitted   wait until the program has taken it, for up to an hour
  --wait answered    also wait for its answer, and print that

While everything is stopped it does not wait, unless --wait or --timeout is
given. C-c ends the wait, not the message: its receipt is printed.

Exit codes: 0 the program provably took it (--wait answered: and answered it),
1 failed or expired, 4 uncertain or no proof in time, 5 held, or queued behind a
held message: delivered once the pane is free.

At most 64 KiB of text are typed, including what precedes it. An agent gets a
longer text in a file, which is kept until it has answered, and one line naming
that file. For any other program a longer text fails, and so does a line over
4095 bytes if its terminal collects lines (cooked mode).
An agent that sends is told once when the turn that took the message has ended,
and when the session has: intercom session mute stops that. With --direct it is
connected to PEER instead: each then hears what the other says, in a chat, until
either closes the link or somebody stops the chat.

--type and --priority are AEA's: policies use them to decide what an agent is
told to do with the message, and whether a person is asked first.

Text that begins with - goes after --, or into a file; --file - reads standard
input.`,
		Example: `  intercom send bob 'How far are you?' --wait answered --timeout 5m
  intercom send bob -- '- a text that begins with a dash'`,
		Args:        between(1, 2, "a peer and a text"),
		Annotations: map[string]string{takesText: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			var sent api.Sent
			wants := api.Wait(wait)
			err := do(a, func(cmd *cobra.Command, args []string) (api.Sent, error) {
				req := api.SendRequest{
					To: args[0], Type: kind, Priority: priority, RequiresResponse: answer, Subject: subject, Tags: tags, Wait: wants, Timeout: timeout,
					Direct: direct, CloseLink: closeLink,
				}
				var err error
				for _, flag := range []string{"id", "type", "priority"} {
					if err := checkWord(cmd, flag); err != nil {
						return api.Sent{}, err
					}
				}
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
				switch {
				case req.Timeout < 0:
					return api.Sent{}, api.Errorf(api.CodeUsage, "--timeout %v: must not be negative", timeout).WithHint("--timeout 0 does not wait at all")
				case req.Timeout > api.MaxDuration:
					return api.Sent{}, api.Errorf(api.CodeUsage, "--timeout %v: too large", timeout).WithHint("a message that is held expires after an hour")
				}
				if direct && closeLink {
					return api.Sent{}, api.Errorf(api.CodeUsage, "--direct and --close-link: only one can be given").WithHint("%s --help", cmd.CommandPath())
				}
				if !closeLink || len(args) > 1 || file != "" {
					if req.Text, err = a.textOf(cmd.Context(), args[1:], file); err != nil {
						return api.Sent{}, err
					}
				}
				if err = checkText(strings.Join(append(tags, subject), "")); err != nil {
					return api.Sent{}, err
				}
				sent, err = a.sendOne(cmd.Context(), req, wait != "" || cmd.Flags().Changed("timeout"))
				return sent, err
			}, a.showSent)(cmd, args)
			if err != nil || sent.Message == "" { // it only closed a link
				return err
			}
			return a.judge(sent, wants)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	cmd.Flags().StringVar(&subject, "subject", "", "`TEXT` for a line of its own above the message")
	cmd.Flags().StringArrayVar(&tags, "tag", nil, "`TAG` for policies; may be repeated")
	cmd.Flags().StringVar(&wait, "wait", "", "wait for `STATE`: submitted or answered")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most `D`, like 90s (10s without --wait, 1h with it)")
	cmd.Flags().StringVar(&id, "id", "", "`UUID` of the message; sent twice with the same one, it is delivered once")
	cmd.Flags().StringVar(&kind, "type", "", "`TYPE` of the message: "+strings.Join(aea.Types(), ", "))
	cmd.Flags().StringVar(&priority, "priority", "", "`PRIORITY`: "+strings.Join(aea.Priorities(), ", "))
	cmd.Flags().BoolVar(&direct, "direct", false, "agents only: also open a chat with PEER")
	cmd.Flags().BoolVar(&closeLink, "close-link", false, "agents only: end that chat first; TEXT may be omitted")
	cmd.Flags().BoolVar(&answer, "requires-response", false, "ask for an answer")
	a.completes(cmd, sessionWords)
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(aea.Types(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions(aea.Priorities(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("file")
	_ = cmd.RegisterFlagCompletionFunc("wait",
		cobra.FixedCompletions([]string{string(api.WaitSubmitted), string(api.WaitAnswered)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// messageID returns the id that was given, or a new one. A new id is made here and not by the sidecar, so that it is
// known whatever becomes of the request.
func messageID(given string) (message.ID, error) {
	if given == "" {
		return message.NewID(), nil
	}
	id, err := message.ParseID(given)
	if err != nil {
		return "", api.Errorf(api.CodeUsage, "--id: %w", err).WithHint("without --id it gets one of its own")
	}
	return id, nil
}

// textOf returns the text of a message: the argument, a file, or the standard input.
func (a *app) textOf(ctx context.Context, args []string, file string) (string, error) {
	var text string
	switch {
	case len(args) > 0 && file != "":
		return "", api.Errorf(api.CodeUsage, "a text and --file: only one can be sent")
	case len(args) > 0 && args[0] == "-":
		return "", api.Errorf(api.CodeUsage, "the text is \"-\", and nothing is read from standard input").WithHint("--file - reads it")
	case len(args) > 0:
		text = args[0]
	case file == "":
		return "", api.Errorf(api.CodeUsage, "no text").WithHint("give it as the last argument, or with --file")
	default:
		var err error
		if text, err = a.read(ctx, file); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", api.Errorf(api.CodeUsage, "the text is empty")
	}
	return text, checkText(text)
}

// read reads a file, or the standard input for -. It reads one byte more than a message may have, and refuses a text of
// that length.
func (a *app) read(ctx context.Context, file string) (string, error) {
	from, err := a.input(ctx, file)
	if err != nil {
		return "", api.Errorf(api.CodeUsage, "--file: %w", err).WithHint("name a file that can be read; --file - reads standard input")
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, message.MaxBody+1))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", api.Errorf(api.CodeFailed, "--file %q: %w", file, err).WithHint("name a file that can be read; --file - reads standard input")
	}
	if len(text) > message.MaxBody {
		return "", api.Errorf(api.CodeUsage, "--file %q: more than %d bytes, the limit for a message", file, message.MaxBody).WithHint("split it, or send the name of the file")
	}
	return string(text), nil
}

// sendOne sends a message, and waits for its outcome. Unless it is patient, it does not wait for what only a person
// ends.
func (a *app) sendOne(ctx context.Context, req api.SendRequest, patient bool) (api.Sent, error) {
	c, err := a.paneClient(ctx, &req.To)
	if err != nil {
		return api.Sent{}, err
	}
	begun, whole := time.Now(), req.Timeout
	req.Timeout = min(whole, tellAfter)
	sent, err := sendWithin(ctx, c, req)
	s := sent.Receipt.State
	if err != nil || whole <= tellAfter || s == "" || sent.Gone != "" || s.Final() || s == message.Submitted && req.Wait != api.WaitAnswered {
		return sent, err
	}
	switch {
	case !patient && untilResumed(sent.Receipt, sent.Behind):
		return sent, nil
	case s == message.Held:
		a.note("%s%s", waitingFor(sent.Receipt.Reason), untilWhat(sent.Receipt.Reason))
	case sent.Behind != "":
		a.note("waiting behind a held message: %s", sent.Behind)
	default:
		a.progress("it is %s; waiting until it is %s, for up to %s; C-c ends the waiting alone", s, req.Wait, message.ShowDuration(whole))
	}
	// With the same id it is the same message: this asks what became of it.
	req.Timeout = max(0, whole-time.Since(begun))
	chat := sent.Chat
	sent, err = sendWithin(ctx, c, req)
	if errors.Is(ctx.Err(), context.Canceled) { // C-c: the state is reported all the same
		req.Timeout = 0
		sent, err = sendWithin(context.WithoutCancel(ctx), c, req)
	}
	sent.Chat = cmp.Or(sent.Chat, chat)
	return sent, wentWithServer(err, s, onComputer().MatchString(req.To))
}

// wentWithServer rewords the error that the tmux server of a delivery is gone: no more can be learned of the delivery,
// whose last known state is state. It says what the sidecar says when it sees the server end. Any other error stays as
// it is. elsewhere says that the delivery goes to another computer.
func wentWithServer(err error, state message.ReceiptState, elsewhere bool) error {
	told, ok := errors.AsType[*api.Error](err)
	if !ok || !strings.HasPrefix(told.Text, noServerText) || told.Hint == servedStill {
		return err
	}
	code := api.CodeFailed
	if elsewhere || state == message.Typed || state == message.Uncertain {
		code = api.CodeUncertain
	}
	return api.Errorf(code, "%s: %s", state, message.ServerEnded).WithHint("%s", told.Hint)
}

// untilResumed reports whether a delivery waits for the end of "stop everything", itself or behind another one.
func untilResumed(r message.Receipt, behind message.Reason) bool {
	return r.State == message.Held && r.Reason == message.Stopped || behind == message.Stopped
}

// untilWhat returns what a note adds about a wait that only a person ends; "" for any other.
func untilWhat(why message.Reason) string {
	if why == message.Stopped {
		return ": " + resumeAll
	}
	return ""
}

// sendWithin makes one request, which ends in time even if nobody answers.
func sendWithin(ctx context.Context, c *api.Client, req api.SendRequest) (api.Sent, error) {
	ctx, cancel := context.WithTimeout(ctx, req.Timeout+replyGrace)
	defer cancel()
	sent, err := api.Call(ctx, c, api.Send, req)
	err = aboutPane(err, req.To)
	told, ok := errors.AsType[*api.Error](err)
	switch {
	case ok && told.Code == api.CodeTimeout:
		return sent, told.WithHint("%s; it may have been sent: intercom log %s", told.Hint, req.ID)
	case ok && told.Code == api.CodeUncertain:
		return sent, told.WithHint("it may have been sent: intercom log %s", req.ID)
	}
	return sent, err
}

func (a *app) showSent(s api.Sent) {
	if s.Chat != nil {
		a.say("chat %s %s: %s", chatName(*s.Chat), stateOf(*s.Chat), plainLine(participants(*s.Chat)))
	}
	if s.Message == "" {
		return
	}
	line := fmt.Sprintf("%s %s", s.Message, s.Receipt.State.Words(s.Receipt.Door))
	if s.Gone != "" && s.Receipt.State == message.Failed {
		line = fmt.Sprintf("%s %s, and not answered", s.Message, message.Submitted)
	}
	if s.Head != "" {
		line += ", as " + strings.TrimRight(s.Head, " |:")
	}
	wordless := s.Receipt.State == message.Answered && strings.TrimSpace(s.Receipt.Words) == ""
	switch {
	case wordless:
		line += ", without a word"
	case s.Receipt.Reason != "":
		line += ": " + string(s.Receipt.Reason)
	case s.Behind != "":
		line += " behind a held message: " + string(s.Behind)
	}
	a.say("%s", plainLine(line))
	if s.Receipt.State == message.Answered && !wordless {
		a.say("%s", plain(s.Receipt.Words))
	}
}

// judge returns what a receipt means to a script, as an error. What is not proven never ends with exit code 0.
func (a *app) judge(s api.Sent, wants api.Wait) error {
	told := &api.Error{}
	switch r := s.Receipt; r.State {
	case message.Answered:
		return nil
	case message.Submitted:
		if wants != api.WaitAnswered {
			return nil
		}
		if s.Gone != "" {
			return api.Errorf(api.CodeTimeout, "submitted, and no answer will come: %s", s.Gone).WithHint("intercom peers lists who is here; intercom log %s shows each step", s.Message)
		}
		told = api.Errorf(api.CodeTimeout, "no answer in time").WithHint("intercom log %s shows it when it comes", s.Message)
	case message.Queued:
		if s.Behind == "" {
			return api.Errorf(api.CodeTimeout, "not taken in time: still %s", r.State).WithHint("intercom log %s", s.Message)
		}
		told = api.Errorf(api.CodeHeld, "queued behind a held message: %s", s.Behind).
			WithHint("it follows that one; intercom log %s", s.Message)
	case message.Held:
		told = api.Errorf(api.CodeHeld, "held: %s", r.Reason).WithHint("%s as soon as that is over; intercom log %s", comesBy(r), s.Message)
		if r.Awaits() {
			told = told.WithHint("intercom inbox approve %s", s.Message.Short())
		}
		if r.Reason == message.UnknownScreen && !r.Stands() && !r.PastesOff() {
			told = told.WithHint("intercom explain says more; intercom inbox release %s types it if you vouch for the pane", s.Message.Short())
		}
		if r.Reason == message.Stopped {
			told = told.WithHint("%s", resumeAll)
		}
	case message.Failed, message.Expired:
		if told = failed(r); s.Gone != "" {
			told = api.Errorf(api.CodeFailed, "submitted, and not answered: %s", s.Gone)
		}
		told = told.WithHint("%s", failedHint(s))
	case message.Uncertain:
		told = api.Errorf(api.CodeUncertain, "uncertain: %s", r.Reason).WithHint("look at the pane: it may have the text, which is not typed again")
	default:
		told = api.Errorf(api.CodeTimeout, "not taken in time: still %s", r.State.Words(r.Door)).WithHint("intercom log %s", s.Message)
	}
	return told
}

// comesBy says what will still happen to a held delivery.
func comesBy(r message.Receipt) string {
	if r.Stands() {
		return "it is typed already, and gets its Enter"
	}
	return "it is typed"
}

// failed returns the error that a delivery failed, and why.
func failed(r message.Receipt) *api.Error {
	if r.Reason == message.Duplicate {
		return api.Errorf(api.CodeFailed, "that id was used for another message")
	}
	return api.Errorf(api.CodeFailed, "%s: %s", r.State, r.Reason)
}

// failedHint says what a person can do about that.
func failedHint(s api.Sent) string {
	switch s.Receipt.Reason {
	case message.Duplicate:
		return "without --id it gets one of its own"
	case message.BodyTooLong:
		return "at most 64 KiB are typed into a line program: split it, or send the name of a file that contains it"
	case message.LineTooLong:
		return "the terminal there takes lines of at most 4095 bytes: split it, or send the name of a file that contains it"
	case message.TooManyRows:
		return "split it, or send the name of a file that contains it; tmux set -g history-limit 50000 gives new panes a longer history"
	}
	return fmt.Sprintf("intercom log %s shows each step", s.Message)
}
