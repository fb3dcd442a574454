package api

import (
	"strings"
	"unicode/utf8"
)

// Refused logs that a tool refused an agent something: a tool that works on files and needs no sidecar for it.
var Refused = Op[RefusedRequest, None]{
	Name: "refused", Door: everybody("have it logged that a tool refused something", "thirty a minute; the log says that a process of its own said so"),
	Check: func(req RefusedRequest) error {
		if len(req.What)+len(req.Why) > maxRefused || !utf8.ValidString(req.What+req.Why) {
			return Errorf(CodeUsage, "more than %d bytes, or no valid UTF-8", maxRefused)
		}
		return nil
	},
}

// RefusedRequest says what was refused, and why.
type RefusedRequest struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// maxRefused is the most bytes that a logged refusal may have.
const maxRefused = 4 << 10

// RefusedOf returns the request for a refusal. It shortens a reason that is too long.
func RefusedOf(what, why string) RefusedRequest {
	if why = brief(why); len(why) > maxRefused/2 {
		why = strings.ToValidUTF8(why[:maxRefused/2], "") + "…"
	}
	return RefusedRequest{what, why}
}
