package agent

// recentMost is how many of a transcript's newest events Recent keeps at least.
const recentMost = 20_000

// Recent reads the events of a transcript, oldest first; of a long transcript only the end. The error says why not
// all of it was read.
func (a Agent) Recent(t Transcript) ([]Event, error) {
	b := newBeside(a)
	defer b.close()
	from := b.archive.source(t, place{})
	defer from.close()
	for all := []Event(nil); ; {
		events, more := from.next()
		if all = append(all, events...); len(all) > 2*recentMost {
			all = append([]Event(nil), all[len(all)-recentMost:]...)
		}
		if !more {
			return all, from.missed()
		}
	}
}
