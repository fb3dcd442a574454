package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// ListWaits lists what only a person can do, and for which somebody waits: the longest wait first. A
// wait is in it once it has lasted for a moment, and until it has been over for one.
var ListWaits = Op[None, []message.Wait]{Name: "waits/list", Door: everybody("list what waits for a person", ""), Reads: true, Whole: list[message.Wait]}
