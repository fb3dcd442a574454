package message

import (
	"strings"
	"time"
)

// ShowDuration writes a time as a person would: 1h30m and not 1h30m0s. Zero is nothing.
func ShowDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
