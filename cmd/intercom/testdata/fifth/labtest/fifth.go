package labtest

import "strings"

// Fifth is an agent that exists for a test alone.
const Fifth Kind = "fifth"

func init() {
	register(Fifth, client{
		npm:       "the-fifth-agent",
		program:   func(install string) ([]string, error) { return []string{install + "/fifth"}, nil },
		configure: func(*Agent) ([]string, error) { return nil, nil },
		ready:     func(s Screen) bool { return s.Contains("the fifth waits") },
		asks:      func(s Screen) bool { return strings.Contains(s.cursorRow(), "yes or no") },
	})
}
