package agent

import "time"

// Find is the transcript that the agent writes to now, as a Follower of it finds it at first.
func (a Agent) Find() (Transcript, error) {
	f := NewFollower(a, nil, time.Now)
	defer f.beside.close()
	return f.ask()
}

// FindText is findText, asked by itself.
func (a Agent) FindText(text string, at time.Time, not func(path string) bool) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findText(text, at, not)
}

// FindThread is findThread, asked by itself.
func (a Agent) FindThread(thread string) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findThread(thread)
}
