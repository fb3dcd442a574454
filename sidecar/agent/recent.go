package agent

// recentMost is how many events of a transcript are kept while it is read from its beginning.
const recentMost = 20_000

// Recent reads what stands in a transcript, the oldest first: of a long one the end. The error says
// why not all of it was read.
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
