package process

// Numbers identifies the space in which the number of a process means that process. A number means
// nothing in another space.
type Numbers struct {
	Boot  string // id of this boot of the system
	Space string // the pid namespace
}
