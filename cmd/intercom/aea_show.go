package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaShown is what `aea show` prints.
type aeaShown struct {
	letters
	Body    string          `json:"body"` // with the details that the message has in fields of their own
	Context json.RawMessage `json:"context,omitempty"`
	Tags    []string        `json:"tags,omitempty"`
}

func (a *app) aeaShow(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE|ID",
		Short: "Show a message with its text",
		Long: `Show a message of a repository with its text, as aea list and aea check name it:
by its file or its message_id. What is in .aea/archive is found too. Showing
changes nothing; intercom aea done marks it as processed.`,
		Example: `  intercom aea show .aea/message-20251014T054200Z-from-claude-other.json`,
		Args:    between(1, 1, "a file or an id"),
		RunE: tells(a, func(cmd *cobra.Command, args []string) (aeaShown, error) {
			d, f, err := a.letter(cmd.Context(), *dir, args[0])
			if err != nil {
				return aeaShown{}, err
			}
			list, err := a.enabled()
			if err != nil {
				return aeaShown{}, err
			}
			r := aeaShown{letters: lettersOf(f.File, f.Message), Body: f.Message.Text(), Context: f.Message.Context, Tags: f.Message.Tags}
			r.Processed, r.Approval = f.Processed, approvalsIn(list, d)[filepath.Base(f.File)]
			return r, nil
		}, a.showLetter),
	}
}

// aeaDone is what `aea done` prints.
type aeaDone struct {
	File    string `json:"file"`
	Already bool   `json:"already,omitempty"` // it was marked before
}

func (a *app) aeaDone(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "done FILE|ID",
		Short: "Mark a message as processed",
		Long: `Mark a message of a repository as processed: aea check does not show it any
more, and no sidecar gives it to an agent. The file stays. Nobody is told; an
answer is sent by intercom aea send --reply-to ID.`,
		Example: `  intercom aea done .aea/message-20251014T054200Z-from-claude-other.json`,
		Args:    between(1, 1, "a file or an id"),
		RunE: tells(a, func(cmd *cobra.Command, args []string) (aeaDone, error) {
			d, f, err := a.letter(cmd.Context(), *dir, args[0])
			r := aeaDone{File: f.File, Already: f.Processed}
			if _, broken := errors.AsType[*api.Error](err); err != nil && !(broken && f.File != "" && api.AsError(err).Code == api.CodeUsage) {
				return r, err // a message that cannot be read can still be marked
			}
			if f.Processed {
				return r, nil
			}
			name := filepath.Base(f.File)
			if err := d.Mark(name); err != nil {
				return r, aeaError(err)
			}
			if err := d.Processed(time.Now(), name, "done by hand"); err != nil {
				a.warn(err.Error())
			}
			return r, nil
		}, a.showDone),
	}
}

// letter returns the message of a repository that word names, by its file or by its id.
func (a *app) letter(ctx context.Context, dir, word string) (repository.Dir, repository.Found, error) {
	d, err := a.repo(ctx, dir)
	if err != nil {
		return d, repository.Found{}, err
	}
	none := api.Errorf(api.CodeNotFound, "no message %q in %q", word, d.Path).WithHint("intercom aea list%s shows their files, and with --json their ids", inRepository(d.Path))
	if name := filepath.Base(word); aea.IsName(name) && (!strings.Contains(word, "/") || filepath.Base(filepath.Dir(word)) == ".aea") {
		f, err := d.Lies(name)
		if errors.Is(err, fs.ErrNotExist) {
			return d, f, none
		}
		return d, f, aeaError(err)
	}
	all, err := repository.Thread(word, []repository.Dir{d})
	if err != nil {
		return d, repository.Found{}, aeaError(err)
	}
	i := slices.IndexFunc(all, func(f repository.Found) bool { return f.Message.ID == word })
	if i < 0 { // word may be the beginning of an id
		i = slices.IndexFunc(all, func(f repository.Found) bool { return message.ID(f.Message.ID).Is(word) })
	}
	if i < 0 {
		return d, repository.Found{}, none
	}
	all[i].File = strings.TrimPrefix(all[i].File, d.Path+"/")
	return d, all[i], nil
}
