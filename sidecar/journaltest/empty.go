package journaltest

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// Empty returns the file of a journal as a first start leaves it. Making one takes longer than
// everything else in a first start, and the tests of package journal cover it.
var Empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ic")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(context.Background(), filepath.Join(dir, "state"))
	if err != nil {
		return nil, err
	}
	if err := j.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(j.Path())
})
