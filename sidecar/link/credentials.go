package link

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Credentials is what a computer shows a NATS server, and by what it recognises the server. The file has the
// server's own form: a .creds file of NATS (JWT and seed), or only a seed of nkeys, on a line of its own. If it
// has blocks of certificates (PEM), these are the only roots that may vouch for the server.
type Credentials struct {
	jwt   string
	seed  []byte
	roots *x509.CertPool
}

// ParseCredentials reads the content of such a file.
func ParseCredentials(text []byte) (c Credentials, err error) {
	rest := text
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return c, fmt.Errorf("certificate: %w", err)
		}
		if c.roots == nil {
			c.roots = x509.NewCertPool()
		}
		c.roots.AddCert(cert)
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		if c.jwt, err = nkeys.ParseDecoratedJWT(text); err != nil {
			return c, fmt.Errorf("user JWT: %w", err)
		}
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return c, errors.New("there is neither a user's seed nor a .creds file of NATS in it")
	}
	c.seed, err = pair.Seed()
	return c, err
}

// NewSeed makes a key for one computer: the seed is for its credentials, the public key for the server.
func NewSeed() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", err
	}
	seed, err = pair.Seed()
	return seed, public, err
}

// Format returns the text of credentials: a seed, and the certificates, in PEM, by which the server is
// recognised.
func Format(seed, roots []byte) []byte {
	var out bytes.Buffer
	out.WriteString("-----BEGIN USER NKEY SEED-----\n")
	out.Write(seed)
	out.WriteString("\n------END USER NKEY SEED------\n")
	if len(roots) > 0 {
		out.WriteString("\n" + strings.TrimSpace(string(roots)) + "\n")
	}
	return out.Bytes()
}

// options returns the options of a connection that shows these credentials.
func (c Credentials) options() (options []nats.Option, err error) {
	if len(c.seed) > 0 {
		sign := func(nonce []byte) ([]byte, error) {
			pair, err := nkeys.FromSeed(c.seed)
			if err != nil {
				return nil, err
			}
			defer pair.Wipe()
			return pair.Sign(nonce)
		}
		if c.jwt != "" {
			options = append(options, nats.UserJWT(func() (string, error) { return c.jwt, nil }, sign))
		} else {
			pair, err := nkeys.FromSeed(c.seed)
			if err != nil {
				return nil, err
			}
			public, err := pair.PublicKey()
			if err != nil {
				return nil, err
			}
			options = append(options, nats.Nkey(public, sign))
		}
	}
	if c.roots != nil {
		options = append(options, nats.Secure(&tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12}))
	}
	return options, nil
}
