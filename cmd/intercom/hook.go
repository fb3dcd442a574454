package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

const (
	// hookTimeout is how long a hook may take, without the start and the end of its process: the agent waits for it. A
	// hook needs a hundredth of that, and ten times more on a busy machine, such as one with agents. Only a sidecar
	// that hangs makes an agent wait so long.
	hookTimeout = 900 * time.Millisecond
	// hookPatience is how much of that time the agent may take to write.
	hookPatience = 400 * time.Millisecond
	// gateTimeout and gatePatience are the same for an agent that asks whether it may use a tool. Without an answer it
	// may use it, so a busy machine must not run out of time.
	gateTimeout  = 5 * time.Second
	gatePatience = 4 * time.Second

	maxHookInput = 4 << 20
	maxHookField = 4096 // bytes of a field that is neither a prompt nor the agent's words
)

// hook is called by an agent. Whatever goes wrong, the agent must not notice: its model may read what a hook prints,
// and an exit code may stop it.
func (a *app) hook() *cobra.Command {
	return &cobra.Command{
		Use:    "hook AGENT EVENT [JSON]",
		Short:  "Tell the sidecar what an agent does (called by the agent itself)",
		Hidden: true,
		Long: `Tell the sidecar about one event of an agent, with what the agent writes to stdin
or passes as the last argument. Agents call it themselves, once
intercom hooks install has told them to.

It starts no sidecar, gives up after a second, prints nothing, and exits 0
whatever happens. Outside tmux it does nothing.

The event before the use of a tool is the exception: it denies a tool that may
change something to a teammate that needs an approved plan and has none
(intercom team spawn --require-plan). If no sidecar answers within five
seconds, it denies nothing.`,
		Example: `  echo '{"session_id":"x"}' | intercom hook claude Stop`,
		// An agent may add a flag one day; that is no error.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if slices.Equal(args, []string{"--help"}) || slices.Equal(args, []string{"-h"}) {
				return cmd.Help()
			}
			gate := asksGate(args)
			most := hookTimeout
			if gate {
				most = gateTimeout
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(a.HookTime, most))
			defer cancel()
			done := make(chan string, 1)
			go func() {
				answer := ""
				defer func() {
					_ = recover() // the runtime would print, and exit with 2, which stops an agent
					done <- answer
				}()
				if gate {
					answer = a.askGate(ctx, args[0])
					return
				}
				a.tellHook(ctx, args)
			}()
			select {
			case answer := <-done:
				_, _ = io.WriteString(a.Stdout, answer)
			case <-ctx.Done(): // whatever it still waits for ends with the process
			}
			return nil
		},
	}
}

// tellHook tells the sidecar of the tmux server around us, if there is one.
func (a *app) tellHook(ctx context.Context, args []string) {
	if a.tmuxServer() == "" || len(args) < 2 || !slices.Contains(knownAgents, args[0]) {
		return
	}
	req := api.HookRequest{Hook: message.Hook{Agent: args[0], Event: plaintext.Beginning(args[1], maxHookField)}}
	if pane := a.Getenv("TMUX_PANE"); paneID().MatchString(pane) {
		req.Pane = pane
	}
	var input io.Reader = a.Stdin
	if len(args) > 2 { // as Codex calls its notify
		input = strings.NewReader(args[len(args)-1])
	}
	reading, cancel := context.WithTimeout(ctx, cmp.Or(a.HookTime, hookPatience))
	defer cancel()
	readHook(reading, input, &req.Hook)
	if encoded, err := json.Marshal(req); err == nil && len(encoded) > api.MaxRequest {
		req.Hook.Prompt, req.Hook.Words = "", "" // the bare event is worth more than nothing
	}
	_, _ = callFromHook(ctx, a, api.Hook, req)
}

// callFromHook asks the sidecar of the tmux server around us. It starts none.
func callFromHook[Q, R any](ctx context.Context, a *app, op api.Op[Q, R], req Q) (reply R, err error) {
	server := a.tmuxServer()
	if server == "" {
		return reply, api.Errorf(api.CodeNoSidecar, "outside tmux")
	}
	p, err := api.Places(a.Getenv, server)
	if err == nil {
		if reply, err = api.Call(ctx, &api.Client{Socket: p.Socket}, op, req); err == nil {
			return reply, nil
		}
	}
	// An agent may not hand on all of its environment, or may have another one than the sidecar. The tmux server knows
	// where the sidecar listens.
	if told, ok := errors.AsType[*api.Error](err); !ok || told.Code != api.CodeNoSidecar && told.Code != api.CodeUsage || a.Published == nil {
		return reply, err
	}
	socket, failed := a.Published(ctx, cmp.Or(p.Server, server))
	if failed != nil || socket == "" || socket == p.Socket {
		return reply, err
	}
	return api.Call(ctx, &api.Client{Socket: socket}, op, req)
}

// hookField is one member of the JSON object that an agent writes.
type hookField struct {
	name  string
	value json.RawMessage
}

// readHook reads into hook what an agent writes. If the input breaks off, is too long or comes after the end of ctx,
// the part before that counts.
func readHook(ctx context.Context, r io.Reader, hook *message.Hook) {
	details := map[string]string{}
	for f := range hookFields(ctx, r) {
		f.take(hook, details)
	}
	hook.Detail = hookDetail(details)
}

// hookFields yields the members of the object that an agent writes, until it breaks off, is too long, or ctx ends.
func hookFields(ctx context.Context, r io.Reader) iter.Seq[hookField] {
	return func(yield func(hookField) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		fields := make(chan hookField)
		go func() {
			defer close(fields)
			d := json.NewDecoder(io.LimitReader(r, maxHookInput))
			if open, err := d.Token(); err != nil || open != json.Delim('{') {
				return
			}
			for d.More() {
				name, err := d.Token()
				if err != nil {
					return
				}
				f := hookField{}
				f.name, _ = name.(string)
				if err := d.Decode(&f.value); err != nil {
					return
				}
				select {
				case fields <- f:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case f, more := <-fields:
				if !more || !yield(f) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// take stores a member where it belongs. Claude Code, and the hooks of Codex, write session_id; Codex's notify writes
// thread-id.
func (f hookField) take(hook *message.Hook, details map[string]string) {
	switch strings.ReplaceAll(f.name, "-", "_") {
	case "session_id", "thread_id":
		hook.Thread = f.text(maxHookField)
	case "turn_id", "prompt_id":
		hook.Turn = cmp.Or(f.text(maxHookField), hook.Turn)
	case "transcript_path":
		hook.Transcript = f.text(maxHookField)
	case "prompt":
		hook.Prompt = f.text(maxHookText)
	case "input_messages":
		// These are all messages of the person in this conversation; the last one began the turn.
		var all []string
		if json.Unmarshal(f.value, &all) == nil && len(all) > 0 {
			hook.Prompt = plaintext.Beginning(all[len(all)-1], maxHookText)
		}
	case "last_assistant_message":
		hook.Words = f.text(maxHookText)
	default:
		if slices.Contains(hookDetails, f.name) {
			details[f.name] = f.text(maxHookField)
		}
	}
}

// maxHookText is a little more than a message may have, so that the sidecar sees whether a text was cut.
const maxHookText = message.MaxBody + utf8.UTFMax

// hookDetails are the members that distinguish events of one kind: the tool of a request for permission, the kind of a
// notification, the reason of a beginning or an end.
var hookDetails = []string{"tool_name", "notification_type", "source", "reason", "type", "message"}

func hookDetail(details map[string]string) string {
	for _, name := range hookDetails {
		if details[name] != "" {
			return details[name]
		}
	}
	return ""
}

// text returns the value of a string, cut to most bytes; "" for any other value.
func (f hookField) text(most int) string {
	var says string
	if !bytes.HasPrefix(f.value, []byte(`"`)) || json.Unmarshal(f.value, &says) != nil {
		return ""
	}
	return plaintext.Beginning(says, most)
}
