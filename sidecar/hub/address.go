package hub

import (
	"net"
	"os"
	"slices"
	"strings"
)

// Loopback reports whether only this machine can reach a server that is bound to an address, host:port.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Hosts returns the names and addresses of this machine under which a hub that is bound to listen can be
// reached, the best for other computers first. These are the ones that a person has named and then, if it is
// reachable from outside, the machine's own addresses and name.
func Hosts(named []string, listen string) []string {
	hosts := slices.Clone(named)
	host, _, _ := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	switch {
	case Loopback(listen):
	case ip != nil && !ip.IsUnspecified(), ip == nil && host != "":
		hosts = append(hosts, host)
	default:
		hosts = append(hosts, addresses()...)
	}
	if name, err := os.Hostname(); err == nil && ValidHost(name) {
		hosts = append(hosts, name)
		if !strings.Contains(name, ".") {
			hosts = append(hosts, name+".local")
		}
	}
	hosts = append(hosts, "localhost", "127.0.0.1", "::1")
	var once []string
	for _, h := range hosts {
		if !slices.Contains(once, h) {
			once = append(once, h)
		}
	}
	return once
}

// addresses returns the addresses of this machine that others may reach, IPv4 first: those are shorter and
// mostly stay the same.
func addresses() (all []string) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var later []string
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			all = append(all, n.IP.String())
		default:
			later = append(later, n.IP.String())
		}
	}
	return append(all, later...)
}

// ValidHost reports whether a name can stand in a URL and in a certificate.
func ValidHost(name string) bool {
	if net.ParseIP(name) != nil {
		return true
	}
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return true
}

// URL returns the address under which other computers reach the hub. If only this machine can, it is the
// loopback address.
func (s Serving) URL() string {
	scheme := "tls://"
	if s.Plain {
		scheme = "nats://"
	}
	host, port, _ := net.SplitHostPort(s.Listen)
	if s.Reachable() && len(s.Hosts) > 0 {
		host = s.Hosts[0]
	}
	return scheme + net.JoinHostPort(host, port)
}

// Here returns the address under which this machine itself reaches the hub.
func (s Serving) Here() string {
	host, port, _ := net.SplitHostPort(s.Listen)
	if ip := net.ParseIP(host); host == "" || host == "localhost" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return strings.Split(s.URL(), "//")[0] + "//" + net.JoinHostPort(host, port)
}

// Reachable reports whether other computers can reach the hub by its URL: it is bound beyond loopback, or a
// person has named a host by which it is reached all the same.
func (s Serving) Reachable() bool { return !Loopback(s.Listen) || s.Named }
