package profile

import "time"

const (
	lineQuiet    = 40 * time.Millisecond
	lineDeadline = 3 * time.Second
	lineInline   = 65 << 10 // 64 KiB of words, and room for what stands before them
)

// Line returns the profile of a program that shows a prompt, reads one line, prints, and shows the prompt again.
// Such a program does not know bracketed paste, so its input must be one line.
func Line() Profile {
	return Profile{
		Name:        "line",
		Reads:       Joined,
		LineBreak:   " ⏎ ",
		Quiet:       lineQuiet,
		SeenWithin:  lineDeadline,
		TakenWithin: lineDeadline,
		InlineMax:   lineInline,
	}
}

// LinePaste returns the profile of a line program with bracketed paste: several lines arrive as one entry, and its
// composer may show a continuation prompt before each of them.
func LinePaste() Profile {
	p := Line()
	p.Name = "line-paste"
	p.Reads = Bracketed
	p.Continuations = []string{"... ", "… ", "..> ", "> ", "| ", "│ ", "· ", "⋮ "}
	return p
}
