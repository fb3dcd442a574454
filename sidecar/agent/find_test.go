package agent

import "time"

// Find returns the transcript that the agent writes to now, as a new Follower would find it.
func (a Agent) Find() (Transcript, error) {
	f := NewFollower(a, nil, time.Now)
	defer f.beside.close()
	return f.ask()
}

// FindText calls findText on its own.
func (a Agent) FindText(text string, at time.Time, not func(path string) bool) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findText(text, at, not)
}

// FindThread calls findThread on its own.
func (a Agent) FindThread(thread string) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findThread(thread)
}
