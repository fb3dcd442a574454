package soaktest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Run is the part of a report beside the history: the circumstances.
type Run struct {
	Begun, Ended time.Time
	Rate         float64
	About        []string // program, tmux, transport, …
	Faults       []Span   // the faults that were made, in order
	NotMade      []string // the faults that could not be made, with reasons
}

// Report writes the page that a person reads.
func Report(w io.Writer, r Run, h History, found []Finding) {
	bad := map[string][]string{}
	for _, f := range found {
		bad[f.Invariant] = append(bad[f.Invariant], f.Text)
	}
	verdict := "All invariants held."
	if len(bad) > 0 {
		verdict = fmt.Sprintf("%d of %d invariants did not hold.", len(bad), len(Invariants))
	}
	took := r.Ended.Sub(r.Begun)
	fmt.Fprintf(w, "# Soak\n\n%s, %v at %.3g messages a second (%.3g were sent, by the mean). %s\n\n", r.Begun.Format(time.DateTime), took.Round(time.Second), r.Rate, float64(len(h.Words))/took.Seconds(), verdict)
	for _, line := range r.About {
		fmt.Fprintf(w, "* %s\n", line)
	}

	fmt.Fprintf(w, "\n## Verdict\n\n")
	table(w, func(t io.Writer) {
		for _, invariant := range Invariants {
			says := "held"
			if n := len(bad[invariant]); n > 0 {
				says = fmt.Sprintf("BROKEN, %d times", n)
			}
			fmt.Fprintf(t, "%s\t%s\n", invariant, says)
		}
	})
	for _, invariant := range Invariants {
		texts := bad[invariant]
		if len(texts) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s:\n\n", invariant)
		for _, text := range texts[:min(len(texts), 20)] {
			fmt.Fprintf(w, "* %s\n", text)
		}
		if len(texts) > 20 {
			fmt.Fprintf(w, "* and %d more\n", len(texts)-20)
		}
	}

	fmt.Fprintf(w, "\n## What was sent\n\n")
	table(w, func(t io.Writer) { ways(t, h) })
	fmt.Fprintln(w, "\nTaken is counted where it arrives: in the log of the program in the pane, in the inbox of a port.\nUncertain is what the sidecar says that it cannot prove; kept waits for an agent that has gone, or a person.")
	if why := reasons(h, Refused); len(why) > 0 {
		fmt.Fprintf(w, "\nRefused, and why:\n\n")
		for _, line := range why {
			fmt.Fprintf(w, "* %s\n", line)
		}
	}
	if why := reasons(h, Unknown); len(why) > 0 {
		fmt.Fprintf(w, "\nNot known, and why:\n\n")
		for _, line := range why {
			fmt.Fprintf(w, "* %s\n", line)
		}
	}

	if why := failures(h); len(why) > 0 {
		fmt.Fprintf(w, "\nAccepted, and failed, kept or uncertain, as the journal says:\n\n")
		for _, line := range why {
			fmt.Fprintf(w, "* %s\n", line)
		}
	}

	fmt.Fprintf(w, "\n## Faults\n\n")
	table(w, func(t io.Writer) {
		for _, f := range r.Faults {
			fmt.Fprintf(t, "%v\t%v\t%s\n", f.From.Sub(r.Begun).Round(time.Second), f.To.Sub(f.From).Round(10*time.Millisecond), f.What)
		}
	})
	for _, line := range r.NotMade {
		fmt.Fprintf(w, "* not made: %s\n", line)
	}

	if quiet := Stretches(h); len(quiet) > 0 {
		fmt.Fprintf(w, "\n## The quiet stretch at the end\n\n")
		for _, s := range quiet {
			fmt.Fprintf(w, "* %v\n", s)
		}
	} else {
		fmt.Fprintf(w, "\nThe quiet stretch at the end is too short for its growth to be judged strictly.\n")
	}

	for _, who := range roles(h.Vitals) {
		fmt.Fprintf(w, "\n## %s over time\n\n", who)
		table(w, func(t io.Writer) { overTime(t, r, h.Vitals, who) })
	}
}

// ways writes one line per protocol.
func ways(t io.Writer, h History) {
	type row struct {
		sent, accepted, refused, unknown, taken, uncertain, failed, kept int
		latest                                                           time.Duration
	}
	rows := map[string]*row{}
	taken := map[Mark]int{}
	for _, one := range h.Taken {
		for _, m := range one.Marks {
			taken[m]++
		}
	}
	for _, w := range h.Words {
		r := rows[w.Way]
		if r == nil {
			r = &row{}
			rows[w.Way] = r
		}
		r.sent++
		switch w.Answer {
		case Accepted:
			r.accepted++
			r.latest = max(r.latest, w.Told.Sub(w.Begun))
		case Said:
			if _, bare := h.Proofs[w.Way]; bare {
				break // nobody accepts it
			}
			if _, ok := h.Journals[w.From][w.Mark]; ok {
				r.accepted++
			} else {
				r.unknown++
			}
		case Refused:
			r.refused++
		default:
			r.unknown++
		}
		r.taken += min(taken[w.Mark], 1)
		for _, d := range h.Journals[w.From][w.Mark] {
			switch d.State {
			case Uncertain:
				r.uncertain++
			case Failed:
				r.failed++
			case Kept:
				r.kept++
			}
		}
	}
	fmt.Fprintln(t, "way\tsent\taccepted\trefused\tunknown\ttaken\tuncertain\tfailed\tkept\tlongest until told")
	for _, way := range slices.Sorted(maps.Keys(rows)) {
		r := rows[way]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%v\n", way, r.sent, r.accepted, r.refused, r.unknown, r.taken, r.uncertain, r.failed, r.kept, r.latest.Round(time.Millisecond))
	}
}

// reasons returns the reasons that senders were given with an answer, and their numbers.
func reasons(h History, answer Answer) []string {
	n := map[string]int{}
	for _, w := range h.Words {
		if w.Answer == answer {
			n[w.Way+": "+w.Why]++
		}
	}
	return counted(n)
}

// failures returns the reasons for which accepted words were not taken, and their numbers.
func failures(h History) []string {
	n := map[string]int{}
	for _, w := range h.Words {
		for _, d := range h.Journals[w.From][w.Mark] {
			if d.State != Taking {
				n[w.Way+": "+d.Why]++
			}
		}
	}
	return counted(n)
}

// counted returns the most frequent entries.
func counted(n map[string]int) (lines []string) {
	for _, why := range slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) }) {
		lines = append(lines, fmt.Sprintf("%d × %s", n[why], why))
	}
	return lines[:min(len(lines), 12)]
}

// overTime writes some thirty moments of a role, with a bar for its memory.
func overTime(t io.Writer, r Run, all []Vital, who string) {
	mine := slices.DeleteFunc(slices.Clone(all), func(v Vital) bool { return v.Who != who })
	most := int64(1)
	for _, v := range mine {
		most = max(most, v.Memory)
	}
	fmt.Fprintln(t, "at\tprocess\tmemory\tdescriptors\tchildren\tgoroutines\tclients\t")
	step := max(1, (len(mine)+29)/30)
	for i := 0; i < len(mine); i += step {
		v := mine[i]
		fmt.Fprintf(t, "%v\t%d\t%.1f MiB\t%d\t%d\t%s\t%s\t%s\n", v.At.Sub(r.Begun).Round(time.Second), v.PID, float64(v.Memory)/(1<<20), v.Files, v.Children,
			number(v.Routines, 0), number(v.Clients, -1), strings.Repeat("▪", int(20*v.Memory/most)))
	}
}

// number formats a number, or nothing if it was not counted.
func number(n, none int) string {
	if n == none {
		return ""
	}
	return fmt.Sprint(n)
}

func table(w io.Writer, rows func(io.Writer)) {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	rows(t)
	_ = t.Flush() // w is a buffer or a file that is read afterwards
}
