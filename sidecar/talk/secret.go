package talk

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// An encrypted port has a certificate of its own making, in tls.pem. Its senders find the certificate in
// server.json, and accept only that one. Nobody else has signed it.

// certificate returns the certificate of the port, and makes one if there is none.
func (p Port) certificate() (tls.Certificate, error) {
	text, err := own.Read(p.tls(), maxSmallFile)
	if err == nil {
		return tls.X509KeyPair(text, text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "ai-talk"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(50, 0, 0), // it is pinned, and thrown away with the port
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	_ = pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err := atomicfile.Write(p.tls(), b.Bytes(), 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(b.Bytes(), b.Bytes())
}

// errOtherCert says that the process that answers is not the listener that wrote server.json.
var errOtherCert = errors.New("the certificate is not that of the port")

// pinned returns a configuration that accepts only one certificate.
func pinned(der []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the comparison below is stricter
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, der) {
				return errOtherCert
			}
			return nil
		},
	}
}
