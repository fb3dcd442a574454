package link

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// The headers of a signed message: the computer's public key, and its signature over subject and payload. The
// subject names the recipient, so a message for one computer does not pass for one to another, whoever repeats
// it.
const (
	keyHeader  = "Intercom-Key"
	signHeader = "Intercom-Signature"
)

// identity is the key with which this computer signs what it says. It does not depend on the credentials that
// the server wants.
type identity struct {
	pair   nkeys.KeyPair
	public string
}

// loadIdentity reads the key in a directory, and makes it the first time.
func loadIdentity(dir string) (id identity, err error) {
	path := filepath.Join(dir, "key")
	seed, err := own.Read(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		if err = atomicfile.MkdirAll(dir, 0o700); err != nil {
			return id, err
		}
		if seed, _, err = NewSeed(); err != nil {
			return id, err
		}
		err = atomicfile.Create(path, seed, 0o600)
		if errors.Is(err, fs.ErrExist) {
			seed, err = own.Read(path, 1<<10)
		}
	}
	if err != nil {
		return id, fmt.Errorf("key of this computer: %w", err)
	}
	if id.pair, err = nkeys.FromSeed(seed); err == nil {
		id.public, err = id.pair.PublicKey()
	}
	if err != nil {
		return id, fmt.Errorf("key of this computer in %q: %w", path, err)
	}
	return id, nil
}

// sign makes a message signed by this computer.
func (id identity) sign(subject string, data []byte) (*nats.Msg, error) {
	sig, err := id.pair.Sign(signed(subject, data))
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set(keyHeader, id.public)
	m.Header.Set(signHeader, base64.RawURLEncoding.EncodeToString(sig))
	return m, nil
}

// errSignature says that a message is not signed, or that its signature does not fit.
var errSignature = errors.New("signature does not fit")

// signer returns the key that signed a message.
func signer(subject string, header nats.Header, data []byte) (key string, err error) {
	key = header.Get(keyHeader)
	if !nkeys.IsValidPublicUserKey(key) {
		return "", errSignature
	}
	pair, err := nkeys.FromPublicKey(key)
	if err != nil {
		return "", errSignature
	}
	sig, err := base64.RawURLEncoding.DecodeString(header.Get(signHeader))
	if err != nil || pair.Verify(signed(subject, data), sig) != nil {
		return "", errSignature
	}
	return key, nil
}

func signed(subject string, data []byte) []byte {
	return append([]byte(subject+"\n"), data...)
}
