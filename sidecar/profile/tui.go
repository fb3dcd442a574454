package profile

import "time"

const (
	// tuiQuiet: spinners and clocks turn faster than that.
	tuiQuiet = time.Second
	// tuiTaken: a composer that is hidden while its program works must be back by then.
	tuiTaken = 30 * time.Second
	// tuiInline: what is longer, programs often show in another form than it has.
	tuiInline = 2 << 10
)

// TUI is a full-screen program that nobody knows: what is said is pasted as one line, which
// submits nothing by itself even where no bracketed paste is on, and which is short enough to
// be seen as it is. Where its composer stands, screen.Frame tells.
func TUI() Profile {
	return Profile{
		Name:        "tui",
		Reads:       Pasted,
		LineBreak:   " ⏎ ",
		Quiet:       tuiQuiet,
		SeenWithin:  agentSeen,
		TakenWithin: tuiTaken,
		InlineMax:   tuiInline,
		End:         " ",
	}
}
