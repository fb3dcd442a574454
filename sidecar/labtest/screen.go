package labtest

import (
	"fmt"
	"strings"
	"time"
)

// A Screen is the state of a pane at one instant, as tmux reports it. It has a JSON form, for recordings.
type Screen struct {
	At     time.Time `json:"at"`
	Width  int       `json:"width"`
	Height int       `json:"height"`

	CursorX       int  `json:"cursor_x"` // from 0
	CursorY       int  `json:"cursor_y"`
	CursorVisible bool `json:"cursor_visible"`

	Alternate bool   `json:"alternate"` // the alternate screen is shown
	InMode    bool   `json:"in_mode"`   // copy mode or another mode
	Dead      bool   `json:"dead"`      // the program has ended and the pane remains
	History   int    `json:"history"`   // lines above the screen
	Command   string `json:"command"`   // name of the foreground program, as tmux reports it
	PID       int    `json:"pid"`
	Title     string `json:"title"`

	Rows  []string `json:"rows"`  // Height rows, with the escape sequences of their attributes
	Plain []string `json:"plain"` // the same without escape sequences
}

// screenFormat is the format of the facts that tmux prints before the rows. The fields that may contain any text come
// last.
const screenFormat = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_in_mode} #{pane_dead} " +
	"#{history_size} #{pane_pid} #{pane_current_command}\n#{pane_title}"

// capture asks for facts and rows in one command line, so that nothing changes in between.
func (a *Agent) capture() (Screen, error) {
	s := Screen{At: time.Now()}
	out, err := a.server.Try(
		"display-message", "-p", "-t", a.Pane, screenFormat, ";",
		"capture-pane", "-p", "-e", "-t", a.Pane, ";", "capture-pane", "-p", "-t", a.Pane,
	)
	if err != nil {
		return s, fmt.Errorf("capture: %w: %s", err, out)
	}
	lines := strings.Split(out, "\n")
	var visible, alternate, mode, dead int
	if _, err := fmt.Sscan(lines[0], &s.Width, &s.Height, &s.CursorX, &s.CursorY, &visible, &alternate, &mode, &dead, &s.History, &s.PID); err != nil {
		return s, fmt.Errorf("capture: facts %q: %w", lines[0], err)
	}
	s.CursorVisible, s.Alternate, s.InMode, s.Dead = visible != 0, alternate != 0, mode != 0, dead != 0
	if words := strings.SplitN(lines[0], " ", 11); len(words) == 11 {
		s.Command = words[10]
	}
	// The very last line break was cut off.
	if len(lines) < 2+2*s.Height {
		return s, fmt.Errorf("capture: %d lines for a screen of %d", len(lines), s.Height)
	}
	s.Title = lines[1]
	s.Rows, s.Plain = lines[2:2+s.Height], lines[2+s.Height:2+2*s.Height]
	return s, nil
}

// Contains reports whether one of the rows contains a text.
func (s Screen) Contains(text string) bool {
	for _, row := range s.Plain {
		if strings.Contains(row, text) {
			return true
		}
	}
	return false
}

// String returns the screen as a person sees it, followed by its facts.
func (s Screen) String() string {
	return fmt.Sprintf("%s\n-- %dx%d cursor %d,%d visible %t alternate %t mode %t dead %t history %d command %q title %q",
		strings.Join(s.Plain, "\n"), s.Width, s.Height, s.CursorX, s.CursorY, s.CursorVisible, s.Alternate, s.InMode, s.Dead, s.History, s.Command, s.Title)
}

// cursorRow returns the row of the cursor.
func (s Screen) cursorRow() string {
	if s.CursorY < 0 || s.CursorY >= len(s.Plain) {
		return ""
	}
	return s.Plain[s.CursorY]
}
