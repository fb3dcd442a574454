package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

const (
	configName = "config.json"
	maxConfig  = 4 << 20 // bytes
	// The lesson writes its file in place, so for a moment the file is empty or incomplete.
	// If it stays so, its writer may be waiting for a processor, or the file is damaged.
	readTries    = 20  // of a text with another fault
	writtenTries = 200 // of a text that ends early
	readPause    = 5 * time.Millisecond
)

// defaultName is the name of a team that nobody has named.
const defaultName = "default"

// Status is what a member does.
type Status string

// Member is a member of a team.
type Member struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	Status Status `json:"status"`
}

// Config is a team's config.json as it was read. The zero value has no members.
type Config struct {
	TeamName string   `json:"team_name"`
	Members  []Member `json:"members"`
	// Skipped has the entries of members that name no teammate. They do not affect the others.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is an entry in the list of members that is not a teammate.
type Skipped struct {
	Entry int    `json:"entry"` // its place in the list, from 1
	Why   string `json:"why"`
}

func (s Skipped) String() string { return fmt.Sprintf("entry %d of members: %s", s.Entry, s.Why) }

// UnmarshalJSON reads config.json. An entry of members that names no teammate goes to Skipped. A role or status
// that is not a text becomes "".
func (c *Config) UnmarshalJSON(text []byte) error {
	var all struct {
		TeamName json.RawMessage `json:"team_name"`
		Members  []entry         `json:"members"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	next := Config{TeamName: defaultName}
	_ = json.Unmarshal(all.TeamName, &next.TeamName)
	taken := make(map[string]int, len(all.Members))
	for i, one := range all.Members {
		why := one.wrong()
		name := one.text("name")
		if first := taken[name]; why == "" && first > 0 {
			why = fmt.Sprintf("%q is already entry %d", name, first)
		}
		if why != "" {
			next.Skipped = append(next.Skipped, Skipped{i + 1, why})
			continue
		}
		taken[name] = i + 1
		next.Members = append(next.Members, Member{name, one.text("role"), Status(one.text("status"))})
	}
	*c = next
	return nil
}

// File returns the path of config.json.
func (d Dir) File() string { return d.at(configName) }

// Config reads config.json. A team without the file has no members yet.
func (d Dir) Config() (Config, error) {
	_, c, err := d.config()
	return c, err
}

// config returns the text of config.json, nil if there is none, and its content.
func (d Dir) config() (text []byte, c Config, err error) {
	for try := 1; ; try++ {
		c = Config{TeamName: defaultName}
		text, _, err = foreign.ReadOurs(d.at(configName), maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, c, nil
		}
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err == nil {
			return text, c, nil
		}
		if try == writtenTries || try >= readTries && !endsEarly(err, text) {
			return nil, Config{}, fmt.Errorf("config of team %q: %w", d.Path, err)
		}
		time.Sleep(readPause)
	}
}

// endsEarly reports whether err says that the JSON text ends too early, as one that is still being written does.
func endsEarly(err error, text []byte) bool {
	syntax := &json.SyntaxError{}
	return errors.As(err, &syntax) && syntax.Offset >= int64(len(text))
}

// names returns the names of all members.
func (c Config) names() []string {
	all := make([]string, len(c.Members))
	for i, m := range c.Members {
		all[i] = m.Name
	}
	return all
}

// knows returns an error for a name that is neither the lead's nor a member's.
func (c Config) knows(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if all := c.names(); name != Lead && !slices.Contains(all, name) {
		return &UnknownError{name, all}
	}
	return nil
}

// oneLine keeps a field from passing for another member's line.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

// String returns the team as the lesson lists it, one line per member.
func (c Config) String() string {
	if len(c.Members) == 0 {
		return "No teammates."
	}
	var b strings.Builder
	b.WriteString("Team: " + oneLine.Replace(c.TeamName))
	for _, m := range c.Members {
		b.WriteString("\n" + oneLine.Replace(fmt.Sprintf("  %s (%s): %s", m.Name, m.Role, m.Status)))
	}
	return b.String()
}
