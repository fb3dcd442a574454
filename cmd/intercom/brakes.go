package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/brakes"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// maxLine is the maximum size in bytes of a line of a dialogue: a body of the largest size, with each of its bytes
// written as an escape, and 4 KiB for the rest.
const maxLine = 6*message.MaxBody + 4096

// judgement is what `brakes try --json` prints.
type judgement struct {
	StoppedAt *int   `json:"stopped_at"` // the message, from 1; null: the dialogue goes on
	Why       string `json:"why"`
}

func (a *app) brakes() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "brakes",
		Short:   "Test what would stop a conversation",
		Long:    "Test what would stop a conversation.",
		Example: "  intercom brakes try dialogue.jsonl",
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.brakesTry())
	return cmd
}

func (a *app) brakesTry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "try FILE",
		Short: "Test whether a dialogue would be stopped as empty, where and why",
		Long: `Show at which message a dialogue would pause because nothing new is done or said
any more: five messages in a row that only thank, praise, acknowledge or repeat.
Depth and rate are not tested, and no sidecar is needed.

FILE has one JSON object per line, {"from": NAME, "body": TEXT}, with
"acted": true if the author called a tool in that turn; - reads standard input.`,
		Example: `  intercom brakes try dialogue.jsonl
  intercom brakes try dialogue.jsonl --json`,
		Args: between(1, 1, "a file"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (judgement, error) {
			return a.tryDialogue(cmd.Context(), args[0])
		}, func(j judgement) {
			if j.StoppedAt == nil {
				a.say("continues: %s", j.Why)
				return
			}
			a.say("stops at message %d: %s", *j.StoppedAt, j.Why)
		}),
	}
	return cmd
}

// tryDialogue judges a whole file. It refuses a file with an invalid line.
func (a *app) tryDialogue(ctx context.Context, file string) (judgement, error) {
	name := strconv.Quote(file)
	if file == "-" {
		name = "standard input"
	}
	from, err := a.input(ctx, file)
	if err != nil {
		return judgement{}, api.Errorf(api.CodeUsage, "%w", err).WithHint("name a file that can be read; - reads standard input")
	}
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	out := judgement{Why: "it never becomes empty"}
	var judge brakes.Judge
	line, turn := 0, 0
	for lines.Scan() {
		line++
		text := lines.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		said, err := saidIn(text)
		if err != nil {
			return judgement{}, api.Errorf(api.CodeFailed, "%s, line %d: %w", name, line, err).WithHint(`each line is like {"from": "ada", "body": "done"}`)
		}
		turn++
		if v := judge.Hear(said); v.Empty && out.StoppedAt == nil {
			out = judgement{StoppedAt: new(turn), Why: v.Why}
		}
	}
	switch err := lines.Err(); {
	case ctx.Err() != nil:
		return judgement{}, ctx.Err()
	case errors.Is(err, bufio.ErrTooLong):
		return judgement{}, api.Errorf(api.CodeFailed, "%s, line %d: more than %d bytes", name, line+1, maxLine).WithHint("a body may have %d bytes", message.MaxBody)
	case err != nil:
		return judgement{}, api.Errorf(api.CodeFailed, "%s, line %d: %w", name, line+1, err).WithHint("name a file that can be read; - reads standard input")
	}
	return out, nil
}

// saidIn parses a line of a dialogue.
func saidIn(line []byte) (brakes.Said, error) {
	var m struct {
		From  string  `json:"from"`
		Body  *string `json:"body"`
		Acted bool    `json:"acted"`
	}
	if !utf8.Valid(line) {
		return brakes.Said{}, errors.New("not valid UTF-8")
	}
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if wrong.Field == "" {
				return brakes.Said{}, errors.New("not an object")
			}
			kind := "text"
			if wrong.Field == "acted" {
				kind = "true or false"
			}
			return brakes.Said{}, errors.New(wrong.Field + " is not " + kind)
		}
		return brakes.Said{}, errors.New("not JSON")
	case m.Body == nil:
		return brakes.Said{}, errors.New("it has no body")
	}
	return brakes.Said{Body: *m.Body, Acted: m.Acted}, nil
}
