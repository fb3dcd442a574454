package message

// Explanation says what the sidecar thinks of a pane, and why. Its form is a contract of --json:
// fields are only ever added.
type Explanation struct {
	Pane      string    `json:"pane"`
	Session   string    `json:"session,omitempty"`  // its name; "": the pane is not adopted
	Agent     string    `json:"agent"`              // name of the profile; "": none is known for the program
	Version   string    `json:"version,omitempty"`  // of the agent, by its own account
	Verified  string    `json:"verified,omitempty"` // the last version of the agent that was tested
	Lines     bool      `json:"lines,omitempty"`    // no agent is known for it, and --as line accepts its program
	State     PaneState `json:"state"`
	MayType   bool      `json:"may_type"`         // by the screen alone: the composer is live and empty, and nothing covers it
	WouldType bool      `json:"would_type"`       // MayType, and nothing else prevents typing
	Why       Reason    `json:"why,omitempty"`    // why it would not type
	Held      *Holding  `json:"held,omitempty"`   // what holds the first message that waits for the pane; nil: none does
	Unsent    []ID      `json:"unsent,omitempty"` // deliveries whose text is in the composer and has not got its Enter
	WordsFrom string    `json:"words_from"`       // transcript, hook, screen, or "" if nothing is read
	// Transcript is the file that its words come from, Found how it was found, and Trouble why it
	// cannot be used, if it cannot.
	Transcript string `json:"transcript,omitempty"`
	Found      string `json:"found,omitempty"`
	Trouble    string `json:"trouble,omitempty"`
	// Door is the agent's own way to take messages, beside its terminal; DoorWhy says why none
	// would go through it now. The setting `door` decides whether any does.
	Door     string      `json:"door,omitempty"`
	DoorWhy  string      `json:"door_why,omitempty"`
	DoorShut bool        `json:"door_shut,omitempty"` // it failed: nothing goes through it until the sidecar is restarted
	Evidence []Ground    `json:"evidence"`            // the weightiest first
	Composer ComposerNow `json:"composer"`
}

// Holding says what holds a message.
type Holding struct {
	Delivery ID     `json:"delivery"`
	Message  ID     `json:"message"`
	Reason   Reason `json:"reason"`
	Says     string `json:"says,omitempty"` // more detail, such as how wide the pane must be
}

// Ground is one piece of evidence in an Explanation.
type Ground struct {
	Source string `json:"source"` // transcript, hook, status, title, screen, process, tty, tmux
	Says   string `json:"says"`
	Weight string `json:"weight"` // exact, or approximate
	AgeMS  int64  `json:"age_ms"` // age of the fact, or of the look that found it
}

// ComposerNow is what is known of a composer.
type ComposerNow struct {
	Live  bool   `json:"live"`
	Empty bool   `json:"empty"`
	Text  string `json:"text"`
}
