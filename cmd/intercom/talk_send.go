package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// talkSent is what `talk send` prints.
type talkSent struct {
	Status    string `json:"status"`
	To        int    `json:"to_port"`
	From      int    `json:"from_port"`
	Length    int    `json:"message_length"` // bytes
	Timestamp string `json:"timestamp"`
	Delivery  string `json:"delivery,omitempty"` // with --receipt
	ID        string `json:"id,omitempty"`       // with --receipt
}

// talkBroadcast is what `talk send` prints for a message to several ports.
type talkBroadcast struct {
	Status  string `json:"status"` // sent, partial, error
	From    int    `json:"from_port"`
	Length  int    `json:"message_length"`
	Sent    int    `json:"sent"`
	Failed  int    `json:"failed"`
	Results []any  `json:"results"` // a talkSent or talkError for each
}

func (b talkBroadcast) exit() exitCode {
	if b.Failed > 0 {
		return 1
	}
	return 0
}

// talkTargets is how a message is addressed.
type talkTargets struct {
	ports, name string
	all         bool
}

func (a *app) talkSend() *cobra.Command {
	var to talkTargets
	var from, text, file string
	var timeout float64
	var log bool
	var s talk.Sending
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send a message to a port",
		Long: `Send a message to a port, from a port of yours to which the other can answer.
"status" is "sent" once the message is in the other's inbox; where another
program listens, which acknowledges nothing, once it was written to it in full.

  --type      text, json (checked before it is sent), or binary
  --receipt   "delivery" says that it was stored; talk receipts shows when it
              was read
  --to-all    every listener but your own; one failure does not stop the others`,
		Example: `  intercom talk send --to-port 9002 --from-port 9001 --message 'Hello!'
  intercom talk send --to beta --from-port 9001 --message-file plan.md`,
		Args: between(0, 0, "no arguments"),
	}
	flags := cmd.Flags()
	a.portFlag(cmd, &to.ports, "to-port", "the destination `PORT`, or several, with commas")
	flags.StringVar(&to.name, "to", "", "the listener of that `NAME` (talk listen start --name)")
	flags.BoolVar(&to.all, "to-all", false, "every listener but your own")
	a.portFlag(cmd, &from, "from-port", "your own `PORT`")
	flags.StringVar(&text, "message", "", "the `TEXT`")
	flags.StringVar(&file, "message-file", "", "read the message from `PATH`; - is standard input")
	flags.Float64Var(&timeout, "timeout", talk.SendTimeout.Seconds(), "wait up to `SECONDS`")
	flags.StringVar(&s.Type, "type", "", "`TYPE` of the message: text, json or binary (default text)")
	flags.StringVar(&s.Thread, "thread", "", "the `ID` of the conversation")
	flags.BoolVar(&s.Receipt, "receipt", false, "note when the message was stored and read")
	flags.BoolVar(&s.TLS, "tls", false, "encrypt the connection (talk listen start --tls)")
	flags.BoolVar(&log, "log-sent", false, "append the message to the outbox of --from-port")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions([]cobra.Completion{talk.TypeText, talk.TypeJSON, talk.TypeBinary}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = a.talks(func(ctx context.Context, h talk.Home) (any, error) {
		given := 0
		for _, flag := range []string{"to-port", "to", "to-all"} {
			if flags.Changed(flag) {
				given++
			}
		}
		switch {
		case given != 1:
			return nil, api.Errorf(api.CodeUsage, "give one of --to-port, --to, --to-all").WithHint("%s --help", cmd.CommandPath())
		case flags.Changed("message") == flags.Changed("message-file"):
			return nil, api.Errorf(api.CodeUsage, "give either --message or --message-file").WithHint("%s --help", cmd.CommandPath())
		}
		for _, flag := range []string{"message-file", "thread", "type"} {
			if err := checkWord(cmd, flag); err != nil {
				return nil, err
			}
		}
		if s.Type != "" {
			if err := oneOf("--type", s.Type, []string{talk.TypeText, talk.TypeJSON, talk.TypeBinary}); err != nil {
				return nil, err
			}
		}
		var err error
		if s.Timeout, err = secondsFlag("timeout", timeout); err != nil {
			return nil, err
		}
		if s.From, err = aPort(cmd.CommandPath(), "from-port", from); err != nil {
			return nil, err
		}
		ports, several, err := to.resolve(h, cmd.CommandPath())
		if err != nil {
			return nil, err
		}
		if s.Body, err = a.messageBody(ctx, text, file); err != nil {
			return nil, err
		}
		config, err := h.Config()
		if err != nil {
			return nil, err
		}
		if several {
			return broadcast(ctx, h, s, ports, log || config.LogSent), nil
		}
		s.To = ports[0]
		sent, err := h.Send(ctx, s)
		if err != nil {
			return nil, err
		}
		if log || config.LogSent {
			if err := h.LogSent(s, sent.At); err != nil {
				a.warn(err.Error()) // it was sent
			}
		}
		return newTalkSent(s, sent), nil
	})
	return cmd
}

func newTalkSent(s talk.Sending, sent talk.Sent) talkSent {
	out := talkSent{Status: "sent", To: s.To, From: s.From, Length: len(s.Body), Timestamp: talk.Stamp(sent.At)}
	if s.Receipt {
		out.Delivery, out.ID = "stored", sent.ID
	}
	return out
}

// resolve returns the ports to which a message goes, and whether the answer is about several.
func (t talkTargets) resolve(h talk.Home, cmd string) (ports []int, several bool, err error) {
	switch {
	case t.all:
		for _, l := range h.Discover() {
			ports = append(ports, l.Port)
		}
		return ports, true, nil
	case t.name != "":
		port, err := h.Named(t.name)
		return []int{port}, false, err
	}
	parts := strings.Split(t.ports, ",")
	for _, part := range parts {
		port, err := aPort(cmd, "to-port", strings.TrimSpace(part))
		if err != nil {
			return nil, false, err
		}
		ports = append(ports, port)
	}
	return ports, len(parts) > 1, nil
}

// broadcast sends a message to each of several ports.
func broadcast(ctx context.Context, h talk.Home, s talk.Sending, ports []int, log bool) talkBroadcast {
	out := talkBroadcast{Status: "sent", From: s.From, Length: len(s.Body), Results: []any{}}
	for _, r := range h.SendAll(ctx, s, ports) {
		one := s
		one.To = r.To
		err := r.Err
		if err == nil {
			out.Sent++
			out.Results = append(out.Results, newTalkSent(one, r.Sent))
			if log {
				_ = h.LogSent(one, r.At)
			}
			continue
		}
		out.Failed++
		failed := newTalkError(err)
		if e, ok := errors.AsType[*talk.Error](err); ok && e.Details["port"] == nil {
			failed = newTalkError(e.With("port", r.To))
		}
		out.Results = append(out.Results, failed)
	}
	switch {
	case out.Failed > 0 && out.Sent == 0:
		out.Status = "error"
	case out.Failed > 0:
		out.Status = "partial"
	}
	return out
}
