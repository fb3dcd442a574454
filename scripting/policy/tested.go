package policy

// Answer is what one function or rule said about a message. All answers together explain how a verdict came about.
type Answer struct {
	Hook     Hook      `json:"hook"`
	To       string    `json:"to,omitempty"`       // the recipient, in decide, guard and format
	By       string    `json:"by"`                 // file:line, with the name of a rule behind it
	Decision *Decision `json:"decision,omitempty"` // of decide and guard
	Says     string    `json:"says,omitempty"`     // of the other hooks, in words
}

// Tested is the result of one file of tests.
type Tested struct {
	File     string    `json:"file"` // the tests
	Of       string    `json:"of"`   // the policy under test
	Problems []Problem `json:"problems,omitempty"`
	Cases    []Case    `json:"cases"`
	Coverage Coverage  `json:"coverage"`
}

// Passed reports whether all tests ran and none failed.
func (t Tested) Passed() bool {
	for _, c := range t.Cases {
		if c.Failed != nil {
			return false
		}
	}
	for _, p := range t.Problems {
		if !p.Warning {
			return false
		}
	}
	return true
}

// Case is one test.
type Case struct {
	Title  string      `json:"title"`
	Line   int         `json:"line"`             // in the file of tests
	Failed *Difference `json:"failed,omitempty"` // nil: it passed
}

// Difference says how a test failed.
type Difference struct {
	Text    string `json:"text"`              // what is wrong
	Message string `json:"message,omitempty"` // the message, in words
	Hook    string `json:"hook,omitempty"`
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	By      string `json:"by,omitempty"` // file:line of the function or rule that answered
	Reason  string `json:"reason,omitempty"`
	Log     string `json:"log,omitempty"` // what the policy printed
}

// Coverage says how much of a policy its tests have run.
type Coverage struct {
	Lines  int      `json:"lines"`            // that have code
	Unrun  []int    `json:"unrun,omitempty"`  // those of them that never ran
	Unheld []string `json:"unheld,omitempty"` // rules that never decided: file:line and name
}
