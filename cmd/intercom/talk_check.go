package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// checked is what `check` prints.
type checked struct {
	Port     int            `json:"port"`
	Count    int            `json:"message_count"`
	Messages []talk.Message `json:"messages"`
	Status   string         `json:"status,omitempty"` // of listen-once: "no message"
}

// unlogged discards the log of what a command does itself.
var unlogged = slog.New(slog.DiscardHandler)

func (a *app) talkCheck() *cobra.Command {
	var port string
	var opts talk.CheckOptions
	var raw bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Print the messages in an inbox",
		Long: `Print the messages in an inbox, oldest first. This reads a file and asks nobody:
it works while the listener does not answer.

  --clear   also removes them from the inbox, once they are printed
  --raw     prints the bytes of the messages and nothing else: what was sent as
            binary comes out as it went in`,
		Example: `  intercom talk check --port 9001
  intercom talk check --port 9001 --clear --limit 1`,
		Args: between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT` whose inbox to check")
	cmd.Flags().BoolVar(&opts.Clear, "clear", false, "remove the messages after printing them")
	cmd.Flags().IntVar(&opts.Limit, "limit", 0, "print at most so many, the oldest (default all)")
	cmd.Flags().StringVar(&opts.Thread, "thread", "", "only those of the conversation `ID`")
	cmd.Flags().BoolVar(&raw, "raw", false, "print bytes, not JSON")
	cmd.RunE = a.talks(func(_ context.Context, h talk.Home) (any, error) {
		number, err := aPort(cmd.CommandPath(), "port", port)
		if err != nil {
			return nil, err
		}
		if cmd.Flags().Changed("limit") && opts.Limit < 1 {
			return nil, api.Errorf(api.CodeUsage, "--limit %d: must be at least 1", opts.Limit)
		}
		if err := checkWord(cmd, "thread"); err != nil {
			return nil, err
		}
		opts.Receipt = true
		return nil, h.Port(number).Check(opts, func(all []talk.Message) error {
			if !raw {
				return a.printJSON(checked{Port: number, Count: len(all), Messages: all})
			}
			for _, m := range all {
				if _, err := a.Stdout.Write(m.Raw()); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return cmd
}

func (a *app) talkReceipts() *cobra.Command {
	var port string
	cmd := &cobra.Command{
		Use:   "receipts",
		Short: "Print what became of messages sent with --receipt",
		Long: `Print what became of the messages that were sent from a port with --receipt:
when the recipient's listener stored each, and when its inbox was checked.`,
		Example: `  intercom talk receipts --port 9001`,
		Args:    between(0, 0, "no arguments"),
	}
	a.portFlag(cmd, &port, "port", "the `PORT` that they were sent from")
	cmd.RunE = a.talks(func(_ context.Context, h talk.Home) (any, error) {
		number, err := aPort(cmd.CommandPath(), "port", port)
		if err != nil {
			return nil, err
		}
		all, err := h.Port(number).Receipts()
		if all == nil {
			all = []talk.Receipt{}
		}
		return struct {
			Port     int            `json:"port"`
			Receipts []talk.Receipt `json:"receipts"`
		}{number, all}, err
	})
	return cmd
}

func (a *app) talkDiscover() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discover",
		Short: "List the listeners on this computer",
		Long: `List your listeners on this computer. One that has died is not among them. One
that takes encrypted connections only has "tls": true.`,
		Example: `  intercom talk discover`,
		Args:    between(0, 0, "no arguments"),
	}
	type listener struct {
		Port    int    `json:"port"`
		PID     int    `json:"pid"`
		Started string `json:"started"`
		Name    string `json:"name,omitempty"`
		TLS     bool   `json:"tls,omitempty"`
	}
	cmd.RunE = a.talks(func(_ context.Context, h talk.Home) (any, error) {
		all := []listener{}
		for _, l := range h.Discover() {
			all = append(all, listener{l.Port, l.PID, l.Started, l.Name, l.TLS})
		}
		return struct {
			Listeners []listener `json:"listeners"`
		}{all}, nil
	})
	return cmd
}

// messageBody returns the message to send, from the command line or from a file.
func (a *app) messageBody(ctx context.Context, text, file string) ([]byte, error) {
	if file == "" {
		return []byte(text), nil
	}
	f, err := a.input(ctx, file)
	if err != nil {
		return nil, talk.Errorf(talk.FileError, 0, "%w", err).With("path", file)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, talk.MaxMessage+1))
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, talk.Errorf(talk.FileError, 0, "%w", err).With("path", file)
	}
	if len(body) > talk.MaxMessage {
		return nil, talk.Errorf(talk.MessageTooLarge, 0, "Message of more than %d bytes exceeds the limit", talk.MaxMessage).With("limit", talk.MaxMessage).With("path", file)
	}
	return body, err
}
