package journaltest

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// Empty is the file of a journal as a first start leaves it. To make it takes longer than all else that a first start
// does, and package journal has the tests of that.
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
