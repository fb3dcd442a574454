package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Computers trust the authority, which is this hub's own and signs nothing else, for as long as they have their
// credentials. So it practically never expires. The server's certificate does, and is renewed well before.
const (
	authorityLasts = 100 * 365 * 24 * time.Hour
	serverLasts    = 365 * 24 * time.Hour
	renewBefore    = 90 * 24 * time.Hour
	clocksDiffer   = 24 * time.Hour // as on a computer without a battery for its clock
)

// Authority returns the certificate, in PEM, by which computers recognise this hub. The first call makes it.
func (h Hub) Authority(now time.Time) ([]byte, error) {
	var text []byte
	err := h.change(func() error {
		ca, err := h.authority(now)
		if err == nil {
			text = encode("CERTIFICATE", ca.Leaf.Raw)
		}
		return err
	})
	return text, err
}

// Certificate returns the server's certificate for these names and addresses. It makes a new one unless there
// is one that names all of them and stays valid long enough.
func (h Hub) Certificate(hosts []string, now time.Time) (cert tls.Certificate, err error) {
	err = h.change(func() error {
		ca, err := h.authority(now)
		if err != nil {
			return err
		}
		cert, err = h.pair(serverFile)
		if err == nil && covers(cert.Leaf, ca.Leaf, hosts, now) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		template := &x509.Certificate{
			Subject: pkix.Name{CommonName: "intercom-hub"}, NotBefore: now.Add(-clocksDiffer), NotAfter: now.Add(serverLasts),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		for _, host := range hosts {
			if ip := net.ParseIP(host); ip != nil {
				template.IPAddresses = append(template.IPAddresses, ip)
			} else {
				template.DNSNames = append(template.DNSNames, host)
			}
		}
		cert, err = h.issue(serverFile, template, &ca)
		return err
	})
	return cert, err
}

// covers reports whether a certificate can be used as it is.
func covers(leaf, ca *x509.Certificate, hosts []string, now time.Time) bool {
	if now.Before(leaf.NotBefore) || now.Add(renewBefore).After(leaf.NotAfter) || leaf.CheckSignatureFrom(ca) != nil {
		return false
	}
	return !slices.ContainsFunc(hosts, func(host string) bool { return leaf.VerifyHostname(host) != nil })
}

func (h Hub) authority(now time.Time) (tls.Certificate, error) {
	ca, err := h.pair(caFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return ca, err
	}
	return h.issue(caFile, &x509.Certificate{
		Subject: pkix.Name{CommonName: "intercom-hub, an authority of its own"}, NotBefore: now.Add(-clocksDiffer), NotAfter: now.Add(authorityLasts),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
}

// issue makes a certificate with its own key, signed by the authority, or by itself if by is nil.
func (h Hub) issue(name string, template *x509.Certificate, by *tls.Certificate) (cert tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return cert, err
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return cert, fmt.Errorf("certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return cert, err
	}
	// Both in one file, so that they always belong together, even if the machine stops.
	if err := atomicfile.Write(h.path(name), append(encode("CERTIFICATE", der), encode("PRIVATE KEY", secret)...), 0o600); err != nil {
		return cert, err
	}
	return h.pair(name)
}

func (h Hub) pair(name string) (cert tls.Certificate, err error) {
	text, err := own.Read(h.path(name), mostBytes)
	if err != nil {
		return cert, err
	}
	if cert, err = tls.X509KeyPair(text, text); err == nil && cert.Leaf == nil {
		cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0])
	}
	if err != nil {
		return cert, fmt.Errorf("%s: %w", h.path(name), err)
	}
	return cert, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
