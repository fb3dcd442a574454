package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// ListWaits lists the things that only a person can do and that somebody waits for, the longest wait first. A
// wait is listed once it has lasted for a moment, and until it has been over for a moment.
var ListWaits = Op[None, []message.Wait]{Name: "waits/list", Door: everybody("list what waits for a person", ""), Reads: true, Whole: list[message.Wait]}
