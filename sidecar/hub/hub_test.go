package hub

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

func TestN4_certificateIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir() + "/hub")
	require.NoError(t, err)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	hosts := []string{"desk", "192.0.2.7"}
	first, err := h.Certificate(hosts, now)
	require.NoError(t, err)
	same, err := h.Certificate(hosts[:1], now.Add(200*24*time.Hour))
	require.NoError(t, err)
	assert.Equal(t, first.Certificate, same.Certificate)
	renewed, err := h.Certificate(hosts, now.Add(300*24*time.Hour))
	require.NoError(t, err)
	assert.NotEqual(t, first.Certificate, renewed.Certificate)
	more, err := h.Certificate(append(hosts, "desk.example.org"), now.Add(300*24*time.Hour))
	require.NoError(t, err)
	assert.NotEqual(t, renewed.Certificate, more.Certificate)

	ca, err := h.Authority(now.Add(20 * 365 * 24 * time.Hour))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca))
	for _, cert := range []*x509.Certificate{first.Leaf, more.Leaf} {
		for _, host := range hosts {
			_, err := cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now.Add(310 * 24 * time.Hour)})
			assert.NoError(t, err)
		}
	}
}

// Whatever is done at the same time, nobody's change is lost.
func TestN4_changesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/hub"
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			h, err := Open(dir)
			if assert.NoError(t, err) {
				_, _, err = h.Add("computer-"+name, time.Now())
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	h, err := Open(dir)
	require.NoError(t, err)
	book, err := h.Book()
	require.NoError(t, err)
	assert.Len(t, book.Computers, 6)
	_, _, err = h.Add("Computer-A", time.Now())
	require.ErrorIs(t, err, ErrKnown)
	require.NoError(t, h.Revoke("COMPUTER-a", false))
	require.ErrorIs(t, h.Revoke("computer-a", false), ErrUnknown)
}

func TestN5_directoryOfOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := Open(dir)
	require.ErrorIs(t, err, own.ErrNotOurs)
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir() + "/hub")
	require.NoError(t, err)
	made, err := h.Invite("Raspi", "tls://192.0.2.7:4222", time.Now())
	require.NoError(t, err)
	assert.Equal(t, "raspi", made.Name)
	word := made.String()
	assert.NotContains(t, word, "=")
	read, err := ParseInvitation("  " + word + "\n")
	require.NoError(t, err)
	assert.Equal(t, made, read)
	_, err = link.ParseCredentials(read.Credentials())
	require.NoError(t, err)

	for _, bad := range []string{
		"", "x", word[:len(word)-4], word[:200], word[4:], "!" + word, strings.ToLower(word),
		Invitation{Name: "local", URL: made.URL, Seed: made.Seed}.String(),
		Invitation{Name: "raspi", URL: "tls://a\" }) os.exit() --", Seed: made.Seed}.String(),
		Invitation{Name: "raspi", URL: "", Seed: made.Seed}.String(),
		Invitation{Name: "raspi", URL: made.URL, Seed: "SUAAAA"}.String(),
	} {
		_, err := ParseInvitation(bad)
		require.ErrorIs(t, err, ErrInvitation, bad)
	}
}

func TestServing_URL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s         Serving
		url, here string
		reachable bool
	}{
		{Serving{Listen: "127.0.0.1:4222", Hosts: []string{"vm", "localhost"}}, "tls://127.0.0.1:4222", "tls://127.0.0.1:4222", false},
		{Serving{Listen: "0.0.0.0:4222", Hosts: []string{"192.0.2.7", "vm"}}, "tls://192.0.2.7:4222", "tls://127.0.0.1:4222", true},
		{Serving{Listen: "[::]:4222", Hosts: []string{"2001:db8::1"}}, "tls://[2001:db8::1]:4222", "tls://127.0.0.1:4222", true},
		{Serving{Listen: "127.0.0.1:4222", Hosts: []string{"desk.example.org"}, Named: true}, "tls://desk.example.org:4222", "tls://127.0.0.1:4222", true},
		{Serving{Listen: ":4222", Hosts: []string{"192.0.2.7"}}, "tls://192.0.2.7:4222", "tls://127.0.0.1:4222", true},
		{Serving{Listen: "localhost:4222", Hosts: []string{"localhost"}}, "tls://localhost:4222", "tls://127.0.0.1:4222", false},
		{Serving{Listen: "desk.example.org:4222", Hosts: []string{"desk.example.org"}}, "tls://desk.example.org:4222", "tls://desk.example.org:4222", true},
		{Serving{Listen: "192.0.2.7:1", Hosts: []string{"192.0.2.7"}, Plain: true}, "nats://192.0.2.7:1", "nats://192.0.2.7:1", true},
	} {
		assert.Equal(t, c.url, c.s.URL())
		assert.Equal(t, c.here, c.s.Here())
		assert.Equal(t, c.reachable, c.s.Reachable())
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "desk.example.org", Hosts([]string{"desk.example.org"}, "0.0.0.0:1")[0])
	assert.Equal(t, "192.0.2.7", Hosts(nil, "192.0.2.7:1")[0])
	for _, listen := range []string{"127.0.0.1:1", "0.0.0.0:1"} {
		hosts := Hosts(nil, listen)
		assert.Subset(t, hosts, []string{"localhost", "127.0.0.1", "::1"})
		for _, host := range hosts {
			assert.True(t, ValidHost(host), host)
		}
	}
}
