package persona

import (
	"fmt"
	"os"
	"time"
)

// wall returns the time for the files of the stand-ins. A test cannot set the machine's clock; instead, a file named by
// INTERCOM_PERSONA_CLOCK has the number of seconds by which this time differs from it.
func wall() time.Time {
	var wrong int64
	if text, err := os.ReadFile(os.Getenv("INTERCOM_PERSONA_CLOCK")); err == nil {
		_, _ = fmt.Sscan(string(text), &wrong)
	}
	return time.Now().Add(time.Duration(wrong) * time.Second)
}
