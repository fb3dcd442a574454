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
	maxConfig  = 1 << 20 // bytes
	// The lesson writes its file in place: for a moment it is empty, or half there.
	readTries = 20
	readPause = 5 * time.Millisecond
)

// defaultName is that of a team that nobody has named.
const defaultName = "default"

// Status is what a member does.
type Status string

// Member is one of a team.
type Member struct {
	Name   string `json:"name"`
	Role   string `json:"role"`
	Status Status `json:"status"`
}

// Config is a team's config.json, as it was when it was read. The zero value has no members.
type Config struct {
	TeamName string   `json:"team_name"`
	Members  []Member `json:"members"`
}

// Config reads config.json; a team without one has no members yet.
func (d Dir) Config() (Config, error) {
	path := d.at(configName)
	for try := 1; ; try++ {
		c := Config{TeamName: defaultName}
		text, _, err := foreign.ReadOurs(path, maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			return c, nil
		}
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err == nil {
			return c, nil
		}
		if try == readTries {
			return Config{}, fmt.Errorf("config of team %q: %w", d.Path, err)
		}
		time.Sleep(readPause)
	}
}

// names are those of all members.
func (c Config) names() []string {
	var all []string
	for _, m := range c.Members {
		if !slices.Contains(all, m.Name) {
			all = append(all, m.Name)
		}
	}
	return all
}

// knows refuses a name that is neither the lead's nor a member's.
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

// String is the team as the lesson lists it, a line a member.
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
