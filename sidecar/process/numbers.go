package process

// Numbers says where the number of a process means that process: nowhere else is it even the same question.
type Numbers struct {
	Boot  string // of the system
	Space string // the pid namespace
}
