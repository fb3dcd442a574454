// Package porttest gives tests ports of this computer that nobody has. It is for tests alone.
package porttest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Free is a port that nobody has, given once. It lies below those that the system gives to connections: what
// listened on one of those and is to listen there again finds that somebody's connection has it meanwhile.
func Free(t testing.TB) int {
	t.Helper()
	for range 1000 {
		number := 12_000 + rand.IntN(20_000)
		if _, given := givenPorts.LoadOrStore(number, true); given {
			continue
		}
		if l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(number))); err == nil {
			_ = l.Close()
			return number
		}
	}
	t.Fatal("no port is free")
	return 0
}

var givenPorts sync.Map
