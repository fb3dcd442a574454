package profile

import "time"

const (
	lineQuiet    = 40 * time.Millisecond
	lineDeadline = 3 * time.Second
	lineInline   = 65 << 10 // 64 KiB of words, and what stands before them
)

// Line is a program that shows a prompt, reads one line, prints, and shows the prompt
// again. It knows nothing of bracketed paste, so what it gets must be one line.
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

// LinePaste is a line program that has bracketed paste switched on: several lines arrive
// as one entry, and its composer may show a continuation prompt before each of them.
func LinePaste() Profile {
	p := Line()
	p.Name = "line-paste"
	p.Reads = Bracketed
	p.Continuations = []string{"... ", "… ", "..> ", "> ", "| ", "│ ", "· ", "⋮ "}
	return p
}
