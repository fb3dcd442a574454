package hub

import (
	"net"
	"os"
	"slices"
	"strings"
)

// Loopback reports whether nobody but this machine reaches what is bound to an address, host:port.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Hosts are the names and addresses of this machine by which a hub that is bound to an address may be called, the
// best for other computers first: those that a person has named, then, if it is reachable, its own addresses and name.
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

// addresses are those of this machine that others may reach, those of IPv4 first: they are shorter and mostly stay.
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

// ValidHost reports whether a name can stand in a URL and a certificate.
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

// URL is where other computers reach what is served; where nobody but this machine does, its loopback address.
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

// Here is where this machine itself reaches it.
func (s Serving) Here() string {
	host, port, _ := net.SplitHostPort(s.Listen)
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return strings.Split(s.URL(), "//")[0] + "//" + net.JoinHostPort(host, port)
}

// Reachable reports whether other computers can call it by its URL: it is bound beyond loopback, or a person has
// named a host by which it is reached all the same.
func (s Serving) Reachable() bool { return !Loopback(s.Listen) || s.Named }
