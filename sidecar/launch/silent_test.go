package launch

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// If tmux does not answer, it is known whether a window was ordered. An ordered one is not closed: it may still
// open, and is then found.
func TestOpen_whileTmuxHangs(t *testing.T) {
	t.Parallel()
	none := fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		tmux    hanging
		ordered bool
	}{
		"before it":    {hanging{panes: none}, false},
		"ordering it":  {hanging{window: none}, true},
		"looking back": {hanging{panes: none, after: 1}, true},
	} {
		l := &Launcher{Tmux: &c.tmux, Log: slog.New(slog.DiscardHandler)}
		_, err := l.Open(t.Context(), message.StartOrder{ID: "x", Program: []string{"/bin/cat"}, Dir: "/"})
		var told *SilentError
		require.ErrorAs(t, err, &told, name)
		assert.Equal(t, c.ordered, told.Ordered, name)
	}
}

// hanging is a tmux that does not answer some requests.
type hanging struct {
	panes, window error
	after         int // how many times it lists panes before it hangs
}

func (h *hanging) Panes(context.Context) ([]tmux.Pane, error) {
	if h.after--; h.after < 0 && h.panes != nil {
		return nil, h.panes
	}
	return []tmux.Pane{{ID: "%1", Session: "base"}}, nil
}

func (h *hanging) Clients(context.Context) ([]tmux.Attached, error) { return nil, nil }

func (h *hanging) NewWindow(context.Context, tmux.Window) (string, error) { return "%2", h.window }

func (h *hanging) KillPane(context.Context, string, int) error { panic("nothing is closed") }
