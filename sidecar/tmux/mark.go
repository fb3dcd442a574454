package tmux

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// A mark is kept in the server as a hidden global environment variable, one for each pane that was
// typed into. Only such a variable can be set in the same step as the paste, redraws nobody (an
// option does), is handed to no program, and can be read in the format of a look. tmux never reuses
// the ids of panes, so a mark cannot be taken for that of another pane.
const markPrefix = "INTERCOM_TYPED_"

// markName returns the variable of a pane, whose id must be valid.
func markName(pane string) string { return markPrefix + pane[1:] }

// longestMark keeps a typing below tmux's limit for one command line (16,300 bytes), in which each
// byte of the mark may take four.
const longestMark = 3_000

// A mark must contain nothing that has a meaning in a format, in which it is compared.
var markText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]*$`) })

func checkMark(mark string) error {
	if len(mark) > longestMark || !markText().MatchString(mark) {
		return fmt.Errorf("mark %q: must be at most %d letters, digits, dashes and dots", mark, longestMark)
	}
	return nil
}

// Unmark removes the mark of a pane. The pane may be gone.
func (c *Client) Unmark(ctx context.Context, pane string) error {
	if err := checkPane(pane); err != nil {
		return err
	}
	_, err := c.run(ctx, command.UnsetEnvironment(markName(pane)))
	if err != nil && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("unmark pane %q: %w", pane, err)
	}
	return nil
}
