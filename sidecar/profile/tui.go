package profile

import "time"

const (
	// tuiQuiet: spinners and clocks are redrawn more often than that.
	tuiQuiet = time.Second
	// tuiTaken: a composer that is hidden while its program works must be back by then.
	tuiTaken = 30 * time.Second
	// tuiInline: programs often show a longer text in another form.
	tuiInline = 2 << 10
)

// TUI returns the profile of an unknown full-screen program. A text is pasted as one line, which submits nothing by
// itself even without bracketed paste, and which is short enough to be shown as it is. screen.Frame finds its
// composer.
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
