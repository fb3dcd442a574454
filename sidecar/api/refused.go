package api

import (
	"strings"
	"unicode/utf8"
)

// Refused writes into the log what a tool has refused an agent that works on files, for which no sidecar was needed.
var Refused = Op[RefusedRequest, None]{
	Name: "refused", Door: everybody("have it logged that a tool refused something", "thirty a minute; the log says that a process of its own said so"),
	Check: func(req RefusedRequest) error {
		if len(req.What)+len(req.Why) > maxRefused || !utf8.ValidString(req.What+req.Why) {
			return Errorf(CodeUsage, "more than %d bytes, or no valid UTF-8", maxRefused)
		}
		return nil
	},
}

// RefusedRequest is what was refused, and why.
type RefusedRequest struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// maxRefused is how long a refusal may be that is logged, in bytes.
const maxRefused = 4 << 10

// RefusedOf is the request of a refusal, however long that is.
func RefusedOf(what, why string) RefusedRequest {
	if why = brief(why); len(why) > maxRefused/2 {
		why = strings.ToValidUTF8(why[:maxRefused/2], "") + "…"
	}
	return RefusedRequest{what, why}
}
