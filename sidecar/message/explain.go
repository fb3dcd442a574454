package message

// Explanation is why the sidecar thinks what it thinks of a pane. Its form is a contract of
// --json: fields are only ever added.
type Explanation struct {
	Pane      string    `json:"pane"`
	Session   string    `json:"session,omitempty"`  // its name; "": the pane is not adopted
	Agent     string    `json:"agent"`              // name of the profile; "": none is known for its program
	Version   string    `json:"version,omitempty"`  // of the agent, as it says itself
	Verified  string    `json:"verified,omitempty"` // the last version of it that was tried
	Lines     bool      `json:"lines,omitempty"`    // that, and its program is none that --as line refuses
	State     PaneState `json:"state"`
	MayType   bool      `json:"may_type"`         // the screen alone: a composer, live and empty, and nothing over it
	WouldType bool      `json:"would_type"`       // that, and nothing else stands against it
	Why       Reason    `json:"why,omitempty"`    // why it would not type
	Held      *Holding  `json:"held,omitempty"`   // what holds the first message that waits for it; nil: none does
	Unsent    []ID      `json:"unsent,omitempty"` // deliveries whose text of ours stands there, and has not got its Enter
	WordsFrom string    `json:"words_from"`       // transcript, hook, screen, or "" where nothing is read
	// Transcript is the file that its words come from, how it was found, and, where it cannot
	// be used, why.
	Transcript string `json:"transcript,omitempty"`
	Found      string `json:"found,omitempty"`
	Trouble    string `json:"trouble,omitempty"`
	// Door is the agent's own way to take messages, beside its terminal, and DoorWhy why none would go
	// through it now. Whether any does is a setting, `door`.
	Door     string      `json:"door,omitempty"`
	DoorWhy  string      `json:"door_why,omitempty"`
	DoorShut bool        `json:"door_shut,omitempty"` // it failed: as long as the sidecar runs, nothing goes through it
	Evidence []Ground    `json:"evidence"`            // the weightiest first
	Composer ComposerNow `json:"composer"`
}

// Holding is what holds a message.
type Holding struct {
	Delivery ID     `json:"delivery"`
	Message  ID     `json:"message"`
	Reason   Reason `json:"reason"`
	Says     string `json:"says,omitempty"` // what is known of it beyond that, such as how wide is enough
}

// Ground is one piece of evidence in an Explanation.
type Ground struct {
	Source string `json:"source"` // transcript, hook, status, title, screen, process, tty, tmux
	Says   string `json:"says"`
	Weight string `json:"weight"` // exact, or approximate
	AgeMS  int64  `json:"age_ms"` // since it was so, or was looked at
}

// ComposerNow is what is known of a composer.
type ComposerNow struct {
	Live  bool   `json:"live"`
	Empty bool   `json:"empty"`
	Text  string `json:"text"`
}
