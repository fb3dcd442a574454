package pane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// ErrUnbound says that a conversation is not proven to be that of an adopted pane.
var ErrUnbound = errors.New("no adopted pane is proven to be in that conversation")

const (
	// threadPatience is how long InThread waits for a pane that has just begun the conversation: a
	// binding takes about a second, and an agent may call a tool sooner.
	threadPatience = 3 * time.Second
	// threadPoll is the time between two attempts meanwhile.
	threadPoll = 100 * time.Millisecond
)

// InThread returns the session whose agent is in a conversation now. It serves a caller that comes from the
// background process which the agents of several panes share (see agent.Background), so that parents and
// environment do not tell which pane it belongs to. thread is the name of the conversation as the caller has
// it (Codex: _meta.threadId of an MCP call, CODEX_THREAD_ID of a shell), and writer the pid of the background
// process among the caller's parents. The session is proven by all of this:
//
//   - that process has the transcript of the conversation open for writing, and no other does;
//   - one adopted agent is bound to it, and no other;
//   - its screen shows the last prompt of that transcript or, where no prompt is in sight, an agent at work.
//
// If it is not proven, InThread tries again for three seconds and then returns ErrUnbound: the caller is
// unverified, whatever it says. The call of a sub-agent is that of the conversation that started it. Any
// goroutine may call InThread.
func (ps *Panes) InThread(ctx context.Context, thread string, writer int) (message.ID, error) {
	t, err := agent.WrittenBy(writer, thread)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnbound, err) // a transcript is written before anything is called in its conversation
	}
	deadline := ps.Now.now().Add(threadPatience)
	for {
		id, err := ps.inTranscript(ctx, t.Path)
		if err == nil || !errors.Is(err, ErrUnbound) || ps.Now.now().After(deadline) {
			return id, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(threadPoll):
		}
	}
}

func (ps *Panes) inTranscript(ctx context.Context, path string) (message.ID, error) {
	id, ok := ps.bindings.writer(path)
	if !ok {
		return "", fmt.Errorf("%q: %w", path, ErrUnbound)
	}
	_, ok, err := answerOf(ctx, ps, id, func(ctx context.Context, p *Pane) (struct{}, error) { return struct{}{}, p.within(ctx, path) })
	if err == nil && !ok {
		err = fmt.Errorf("its pane has ended: %w", ErrUnbound)
	}
	if err != nil {
		return "", err
	}
	return id, nil
}

// within returns nil if the agent is in the conversation of a transcript now, else why it is not proven to be.
func (p *Pane) within(ctx context.Context, path string) error {
	a := p.account
	if a == nil || a.bound == nil || a.bound.Path != path || a.contested() {
		return fmt.Errorf("%s is not bound to it: %w", p.session.Name, ErrUnbound)
	}
	s, err := p.see(ctx)
	if err != nil {
		return fmt.Errorf("look at %s: %w: %w", p.session.Pane, ErrUnbound, err)
	}
	v := a.view(s.look)
	talk, shown := screen.Converse(v, a.prof)
	prompt, known := a.bound.LastPrompt(a.who.Kind)
	if !inTalk(talk, shown, screen.Judge(v, a.prof).State, prompt, known) {
		return fmt.Errorf("%s shows another conversation: %w", p.session.Name, ErrUnbound)
	}
	return nil
}

// inTalk reports whether a screen fits a conversation whose last prompt is prompt, if known: the
// screen shows this prompt, or none that could be compared and an agent at work.
func inTalk(talk screen.Talk, shown bool, state message.PaneState, prompt string, known bool) bool {
	if shown && known && verbatim(talk.Prompt) {
		return talk.Told(prompt)
	}
	return state == message.Working || state == message.Blocked
}

// verbatim reports whether a shown prompt is recorded as it is shown: it is no mark of what was
// pasted, and no command to the program.
func verbatim(prompt string) bool {
	return prompt != "" && !strings.HasPrefix(prompt, "[Pasted ") && !strings.HasPrefix(prompt, "/") && !strings.HasPrefix(prompt, "!")
}
