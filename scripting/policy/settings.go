package policy

// Settings are what init.lua says by intercom.configure. What it does not say is the zero
// value of its field.
type Settings struct {
	Computer    string                    `json:"computer,omitempty"`    // the name of this machine
	Attribution string                    `json:"attribution,omitempty"` // with {name} and {number}
	Chats       map[string]string         `json:"chats,omitempty"`       // settings of every new chat, as --set takes them
	Brakes      map[string]string         `json:"brakes,omitempty"`      // limits, as the table of limits names them
	Profiles    map[string]map[string]any `json:"profiles,omitempty"`    // fields of profiles, by profile: string, float64, bool or list of strings
	Answer      []string                  `json:"answer,omitempty"`      // the command that answers messages of repositories in which no agent works
}
