// Package clocktest sets the clocks of tests, never the machine's. It is for tests, and for the program that is built
// for the soak.
package clocktest

import (
	"time"
	"unsafe"
)

// Ahead is t with its wall clock ahead by so many seconds, and its monotonic clock as it was: what
// time.Now is after somebody has set the clock. The fields of a Time stand in the source of package time:
// with a monotonic reading, the first has the seconds of the wall clock from bit 30 on.
func Ahead(t time.Time, seconds int64) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << 30
	return t
}
