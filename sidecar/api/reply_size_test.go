package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A reply that is too long is said to be too long, and not asked for again.
func TestClient_aReplyThatIsTooLong(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var asked atomic.Int64
	chunk := strings.Repeat("x", 1<<20)
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set(api.VersionHeader, api.Version)
		fmt.Fprint(w, `[{"name":"`)
		for range 65 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
		fmt.Fprint(w, `"}]`)
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = h.Serve(ln) })
	t.Cleanup(func() {
		_ = h.Close()
		served.Wait()
	})
	var all []message.Peer
	all, err = api.Call(t.Context(), &api.Client{Socket: socket}, api.Sessions, api.None{})
	assert.Empty(t, all)
	require.Equal(t, api.CodeFailed, code(err))
	assert.EqualError(t, err, "the reply has more than 64 MiB")
	assert.Contains(t, api.AsError(err).Hint, "--limit")
	assert.EqualValues(t, 1, asked.Load())
}
