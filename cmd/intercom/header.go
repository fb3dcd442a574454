package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// header returns the commands for people who read or write the header of the collaboration document by hand.
func (a *app) header() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "header",
		Short:  "Read and write the header of messages between agents",
		Hidden: true,
		Long: `Read and write the header of messages between agents:
AI[computer:session_id] | message. A header says who a message claims to be
from; only intercom send and a chat put a true one there.`,
		Example: `  intercom header parse 'AI[local:f1a2b3c4-d5e6-7890-1234-567890abcdef] | hi'`,
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.headerParse(), a.headerFormat())
	return cmd
}

// parsedHeader is what `header parse` prints.
type parsedHeader struct {
	AI       bool       `json:"ai"`
	Computer string     `json:"computer,omitempty"`
	Session  message.ID `json:"session_id,omitempty"` // "unverified": nobody can be reached by it
	Content  string     `json:"content"`              // the whole text if ai is false
}

func (a *app) headerParse() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "parse [TEXT]",
		Short: "Show whether a text has a header, and whom it names",
		Long: `Print {"ai": true, "computer": …, "session_id": …, "content": …} for a text that
begins with a header, and {"ai": false, "content": …} for any other. A second
header is content. The session_id "unverified" belongs to no session: nobody can
be reached by it.`,
		Example: `  intercom header parse 'AI[local:f1a2b3c4-d5e6-7890-1234-567890abcdef] | hi'
  intercom header parse --file -`,
		Args:        between(0, 1, "a text"),
		Annotations: map[string]string{takesText: "yes"},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	_ = cmd.MarkFlagFilename("file")
	cmd.RunE = prints(a, func(cmd *cobra.Command, args []string) (parsedHeader, error) {
		text, err := a.textOf(cmd.Context(), args, file)
		if err != nil {
			return parsedHeader{}, err
		}
		from, content, ok := render.ParseHeader(text)
		return parsedHeader{ok, from.Computer, from.Peer, content}, nil
	})
	return cmd
}

func (a *app) headerFormat() *cobra.Command {
	var file string
	var from message.Address
	cmd := &cobra.Command{
		Use:   "format [TEXT]",
		Short: "Put a header before a text",
		Long: `Put a header before a text, unless the same one is there already. Another header
in the text is content and stays where it is. This sends nothing.`,
		Example:     `  intercom header format --session-id f1a2b3c4-d5e6-7890-1234-567890abcdef hi`,
		Args:        between(0, 1, "a text"),
		Annotations: map[string]string{takesText: "yes"},
	}
	cmd.Flags().StringVar(&from.Computer, "computer", message.LocalComputer, "`NAME` of the sender's computer")
	cmd.Flags().StringVar((*string)(&from.Peer), "session-id", "", "`UUID` of the sender's session")
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	_ = cmd.MarkFlagFilename("file")
	type formatted struct {
		Text string `json:"text"`
	}
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) (formatted, error) {
		if !cmd.Flags().Changed("session-id") {
			return formatted{}, api.Errorf(api.CodeUsage, "--session-id is missing").WithHint("%s --help", cmd.CommandPath())
		}
		for _, flag := range []string{"session-id", "computer"} {
			if err := checkWord(cmd, flag); err != nil {
				return formatted{}, err
			}
		}
		text, err := a.textOf(cmd.Context(), args, file)
		if err != nil {
			return formatted{}, err
		}
		if text, err = render.FormatHeader(from, text); err != nil {
			return formatted{}, api.Errorf(api.CodeUsage, "%w", err).WithHint("intercom peers --json lists sessions and their ids")
		}
		return formatted{text}, nil
	}, func(f formatted) {
		if a.width() > 0 { // a terminal would act on what is in it
			f.Text = plain(f.Text)
		}
		a.told()
		_, _ = io.WriteString(a.Stdout, f.Text+"\n")
	})
	return cmd
}

// prints returns a command's function that prints what ask returns, as JSON.
func prints[T any](a *app, ask func(cmd *cobra.Command, args []string) (T, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.json = true
		return do(a, ask, func(T) {})(cmd, args)
	}
}
