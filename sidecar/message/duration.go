package message

import (
	"strings"
	"time"
)

// ShowDuration formats a duration as a person would write it: 1h30m, not 1h30m0s. Zero gives "".
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
