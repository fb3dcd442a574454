package process

// Relative is a process in somebody's lineage, with what can tell who has started it.
type Relative struct {
	Process
	Parent   int
	Leader   int    // of its session
	Terminal bool   // it has a controlling terminal
	Shell    bool   // an interactive shell: it reads its commands from a terminal
	Pane     string // in which it was started, by what TMUX_PANE was then; "" if that was of another tmux server
}
