package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// beginWithin is how long a chat may take to begin: the sidecar may have to wait until an agent has written down its
// last answer.
const beginWithin = 10 * time.Second

// backWithin is how long an answer that is here may take to reach the pane that asked; a free pane takes it in a
// second.
const backWithin = 5 * time.Second

func (a *app) askPane() *cobra.Command {
	var req api.AskRequest
	var wait string
	var timeout time.Duration
	var set []string
	cmd := &cobra.Command{
		Use:   "ask PANE",
		Short: "Take one pane's last answer to another, and bring back the reply",
		Long: `Send what this pane's agent said last to PANE, with a line of your own if you
like, bring the answer back into this pane, and print it. Nothing else is passed
on, and it ends by itself. Either pane may be in a chat: that goes on, and hears
neither the question nor the answer.

This pane is the one that the command runs in, or that its popup belongs to;
--from names another one. Agents that are recognised are adopted; any other
program must be adopted first, with intercom adopt.

  --wait answered    wait for the answer, for up to an hour (the default)
  --wait submitted   wait only until PANE has taken the question; the answer
                     still comes. The default for an agent that asks from its
                     own pane.

While everything is stopped it does not wait, unless --wait or --timeout is
given. C-c ends the wait, not the question.

Exit codes: 0 answered, and the answer was taken (--wait submitted: the question
was taken), 1 failed or ended without an answer, 4 uncertain or no answer in
time, 5 held: delivered once the pane is free.`,
		Example: `  intercom ask %2 --say 'Is that right?'
  intercom ask bob --from alice --wait submitted`,
		Args: between(1, 1, "a pane"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := question{app: a, wants: api.Wait(wait), patient: wait != "" || cmd.Flags().Changed("timeout")}
			var asked api.Asked
			err := do(a, func(cmd *cobra.Command, args []string) (api.Asked, error) {
				if err := q.check(cmd, &req, timeout); err != nil {
					return api.Asked{}, err
				}
				var err error
				if req.Set, err = pairs("--set", "KEY=VALUE", set); err != nil {
					return api.Asked{}, err
				}
				if _, err := api.ParseSettings(req.Set); err != nil {
					return api.Asked{}, err
				}
				req.To, q.most, q.until = args[0], timeout, time.Now().Add(timeout)
				asked, err = q.ask(cmd.Context(), req)
				return asked, err
			}, a.showAsked)(cmd, args)
			if err != nil {
				return err
			}
			return q.judge(asked)
		},
	}
	cmd.Flags().StringVar(&req.From, "from", "", "the `PANE` whose last answer is sent, and that gets the reply (default: this one)")
	cmd.Flags().StringVar(&req.Say, "say", "", "`TEXT` of your own, after that answer")
	cmd.Flags().IntVar(&req.Turns, "turns", 1, "end after `N` answers")
	cmd.Flags().StringArrayVar(&set, "set", nil, "`KEY=VALUE` of a setting, as in chat start; may be repeated")
	cmd.Flags().StringVar(&wait, "wait", "", "wait for `STATE`: submitted or answered")
	cmd.Flags().DurationVar(&timeout, "timeout", waitTimeout, "wait at most `D`, like 90s")
	a.completes(cmd, sessionWords)
	a.completesFlag(cmd, "from", sessionWords)
	_ = cmd.RegisterFlagCompletionFunc("set", completeSetting)
	_ = cmd.RegisterFlagCompletionFunc("wait",
		cobra.FixedCompletions([]string{string(api.WaitSubmitted), string(api.WaitAnswered)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// question is a question that was asked, and how far to wait for it.
type question struct {
	*app
	wants   api.Wait      // "" for the default
	patient bool          // --wait or --timeout was given: wait even for what only a person ends
	most    time.Duration // the value of --timeout
	until   time.Time
	last    message.ReceiptState // state of its receipt, when the sidecar last told it
}

// check refuses a question with invalid flags.
func (q *question) check(cmd *cobra.Command, req *api.AskRequest, timeout time.Duration) error {
	for _, flag := range []string{"from", "say"} {
		if err := checkWord(cmd, flag); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("wait") {
		if err := oneOf("--wait", string(q.wants), []string{string(api.WaitSubmitted), string(api.WaitAnswered)}); err != nil {
			return err
		}
	}
	switch {
	case req.Turns < 1:
		return api.Errorf(api.CodeUsage, "--turns %d: less than one answer", req.Turns).WithHint("--turns 3 ends it after 3")
	case req.Turns > api.MaxCount:
		return api.Errorf(api.CodeUsage, "--turns %d: too large", req.Turns).WithHint("without --turns it ends after one answer")
	case timeout < 0:
		return api.Errorf(api.CodeUsage, "--timeout %v: must not be negative", timeout).WithHint("--timeout 0 does not wait at all")
	case timeout > api.MaxDuration:
		return api.Errorf(api.CodeUsage, "--timeout %v: too large", timeout).WithHint("a message that is held expires after an hour")
	}
	return checkText(req.Say)
}

// ask asks the question, and waits for its outcome.
func (q *question) ask(ctx context.Context, req api.AskRequest) (api.Asked, error) {
	c, err := q.tmuxClient(ctx)
	if err != nil {
		return api.Asked{}, err
	}
	if err := q.panes(ctx, c, &req.From, &req.To); err != nil {
		return api.Asked{}, err
	}
	named := req.From
	if named == "" {
		req.From = q.ownPane(ctx)
	}
	asking, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	chat, err := api.Call(asking, c, api.Ask, req)
	if err != nil {
		return api.Asked{}, aboutAsk(err, req, named)
	}
	q.noteUncounted(ctx, c, req.Set, chat)
	asked, err := q.follow(ctx, c, chat)
	if ctx.Err() != nil {
		q.wants = cmp.Or(q.wants, api.WaitAnswered)
		now, err := q.wait(context.WithoutCancel(ctx), c, chat, q.wants, 0)
		r := now.Receipt
		if err == nil && (answeredAll(now) || r.State == message.Held || now.Behind != "" || r.State.Final() || now.Chat.State == message.ChatOver) {
			return now, nil // C-c: the state is reported all the same
		}
		return asked, api.Errorf(api.CodeTimeout, "given up before it was answered").WithHint("%s", goesOn(chat))
	}
	if ended := wentWithServer(err, cmp.Or(q.last, message.Queued), onComputer().MatchString(req.To)); ended != err {
		return asked, ended
	}
	if told, ok := errors.AsType[*api.Error](err); ok {
		return asked, told.WithHint("%s", strings.TrimPrefix(told.Hint+"; "+goesOn(chat), "; "))
	}
	return asked, err
}

// follow waits until the question has come as far as wanted.
func (q *question) follow(ctx context.Context, c *api.Client, chat message.Chat) (api.Asked, error) {
	asked, err := q.wait(ctx, c, chat, api.WaitAnswered, tellAfter)
	if err != nil {
		return asked, err
	}
	if q.wants == "" {
		q.wants = api.WaitAnswered
		if asked.Own {
			q.wants = api.WaitSubmitted
		}
	}
	switch {
	case answeredAll(asked):
	case !q.patient && untilResumed(asked.Receipt, asked.Behind):
		return asked, nil
	case asked.Receipt.State == message.Held:
		q.note("%s%s", waitingFor(asked.Receipt.Reason), untilWhat(asked.Receipt.Reason))
	case asked.Behind != "":
		q.note("waiting behind a held message: %s", asked.Behind)
	case asked.Chat.State != message.ChatOver && q.left() > 0:
		q.progress("the question is %s; waiting for the answer, for up to %s; it comes even after C-c", cameTo(asked), message.ShowDuration(q.most))
	}
	if !answeredAll(asked) && asked.Chat.State != message.ChatOver {
		if asked, err = q.wait(ctx, c, chat, q.wants, waitTimeout); err != nil {
			return asked, err
		}
	}
	if q.wants == api.WaitAnswered && answeredAll(asked) && !asked.Own && asked.Chat.State != message.ChatOver {
		return q.wait(ctx, c, chat, api.WaitEnded, backWithin)
	}
	return asked, nil
}

// wait returns how far the question has come. It waits for at most most, and never beyond the end of the whole wait.
func (q *question) wait(ctx context.Context, c *api.Client, chat message.Chat, wait api.Wait, most time.Duration) (api.Asked, error) {
	left := q.left()
	if most != waitTimeout {
		left = min(left, most)
	}
	ctx, cancel := context.WithTimeout(ctx, left+replyGrace)
	defer cancel()
	asked, err := api.Call(ctx, c, api.AwaitAnswers, api.AskedQuery{Chat: chat.ID, Wait: wait, Timeout: left})
	if err == nil {
		q.last = asked.Receipt.State
	}
	return asked, err
}

// left returns how long the command may still wait.
func (q *question) left() time.Duration { return max(0, time.Until(q.until)) }

// ownPane returns the pane that asks if none is named: the one in which this runs, or the one from which the popup was
// opened in which this runs. "" leaves it to the sidecar, which sees whose process this is.
func (a *app) ownPane(ctx context.Context) string {
	if !strings.HasPrefix(a.Getenv("TMUX"), a.tmuxServer()+",") {
		return ""
	}
	if pane := a.Getenv("TMUX_PANE"); pane != "" {
		return pane
	}
	o, err := a.origin(ctx, "")
	if err != nil {
		return ""
	}
	return o.Pane
}

// answeredAll reports whether all answers are here.
func answeredAll(q api.Asked) bool { return len(q.Answers) > 0 && len(q.Answers) >= q.Chat.Turns }

// goesOn says what becomes of a question that nobody waits for any more.
func goesOn(c message.Chat) string {
	return fmt.Sprintf("the question stays open until it is answered; intercom chat stop %s ends it now", c.ID.Short())
}

// aboutAsk adds a hint to an error about one of the two panes.
func aboutAsk(err error, req api.AskRequest, named string) error {
	told, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return err
	case named == "" && req.From != "" && told.Kind == api.Unadoptable && told.Ref == req.From:
		return api.Errorf(told.Code, "%s", told.Text).WithHint("whose last answer? Name its pane: --from PANE")
	case req.From != "" && told.Ref == req.From:
		return aboutPane(err, req.From)
	}
	return aboutPane(err, req.To)
}

func (a *app) showAsked(q api.Asked) {
	a.say("%s %s", q.Chat.ID, plainLine(cameTo(q)))
	for _, m := range q.Answers {
		if len(q.Answers) > 1 {
			a.say("")
			a.say("%s", plainLine(author(m)))
		}
		a.say("%s", plain(m.Body))
	}
}

// cameTo says in a few words how far a question has come.
func cameTo(q api.Asked) string {
	r := q.Receipt
	switch {
	case answeredAll(q):
		return "answered"
	case len(q.Answers) > 0:
		return fmt.Sprintf("answered %d of %d times", len(q.Answers), q.Chat.Turns)
	case r.State == message.Answered && q.Chat.State == message.ChatOver:
		return "answered, without a word"
	case r.Reason != "":
		return string(r.State) + ": " + string(r.Reason)
	case q.Behind != "":
		return string(r.State) + " behind a held message: " + string(q.Behind)
	}
	return string(r.State)
}

// judge returns the outcome of a question as an error, for the exit code of a script.
func (q *question) judge(asked api.Asked) error {
	r := asked.Receipt
	over := asked.Chat.State == message.ChatOver
	switch {
	case answeredAll(asked) && q.wants == api.WaitAnswered && !asked.Own:
		return q.judgeBack(asked)
	case answeredAll(asked), over && r.State == message.Answered && len(asked.Answers) == 0: // without a word
		return nil
	case q.wants != api.WaitAnswered && (r.State == message.Submitted || r.State == message.Answered):
		return nil
	case over && len(asked.Answers) > 0: // fewer answers than asked for
		if !asked.Own {
			if err := q.judgeBack(asked); err != nil {
				return err
			}
		}
		return api.Errorf(api.CodeFailed, "question %s has ended after %d of %d answers: %s", asked.Chat.ID.Short(), len(asked.Answers), asked.Chat.Turns, asked.Chat.Why).
			WithHint("intercom chat show %s", asked.Chat.ID.Short())
	case over && (r.State == message.Submitted || !r.State.Final()):
		return api.Errorf(api.CodeFailed, "question %s has ended without the answer: %s", asked.Chat.ID.Short(), asked.Chat.Why).
			WithHint("intercom chat show %s", asked.Chat.ID.Short())
	case r.State == message.Answered: // likewise, but the chat goes on
		return api.Errorf(api.CodeTimeout, "no further answer in time").WithHint("%s", goesOn(asked.Chat))
	}
	err := q.app.judge(api.Sent{Message: r.Message, Receipt: r, Behind: asked.Behind}, q.wants)
	if told, ok := errors.AsType[*api.Error](err); ok && !over && (!r.State.Final() || r.State == message.Uncertain) {
		return told.WithHint("%s", told.Hint+"; "+goesOn(asked.Chat))
	}
	return err
}

// judgeBack is judge for an answer that is here and on its way back to the pane that asked.
func (q *question) judgeBack(asked api.Asked) error {
	to := ""
	if len(asked.Chat.Participants) > 0 {
		to = asked.Chat.Participants[0].Name
	}
	state, reason := message.ReceiptState(""), message.Reason("")
	if asked.Back != nil {
		state, reason = asked.Back.State, asked.Back.Reason
	}
	look := "intercom log " + asked.Chat.ID.Short()
	switch {
	case state == message.Submitted, state == message.Answered:
		return nil
	case state == message.Uncertain:
		return api.Errorf(api.CodeUncertain, "uncertain whether %s took the answer: %s", to, reason).WithHint("look at the pane: it may have the text")
	case state == message.Failed, state == message.Expired:
		return api.Errorf(api.CodeFailed, "the answer did not reach %s: %s: %s", to, state, reason).WithHint("%s shows each step", look)
	case asked.Chat.State == message.ChatOver:
		return api.Errorf(api.CodeFailed, "the answer did not reach %s: %s", to, asked.Chat.Why).WithHint("%s shows each step", look)
	case reason != "":
		return api.Errorf(api.CodeHeld, "the answer waits for %s: %s", to, reason).WithHint("%s as soon as that is over; %s", comesBy(*asked.Back), look)
	}
	return api.Errorf(api.CodeHeld, "the answer waits for %s", to).WithHint("%s shows each step", look)
}
