package process

// Relative is a process in a lineage, with the facts that can tell who has started it.
type Relative struct {
	Process
	Parent   int
	Leader   int    // of its session
	Terminal bool   // it has a controlling terminal
	Shell    bool   // an interactive shell: it reads its commands from a terminal
	Pane     string // the pane of its start, from TMUX_PANE then; "" if of another tmux server
}
