// Package command makes the commands that go to a tmux server, and is the only place that
// does: a Command can be made by its functions alone, and whatever a server expands in one is
// a Format, which can be made from the table of fields alone. So a format that kills a server
// cannot be written anywhere else.
//
// Up to tmux 3.2a a field that is an instant (session_activity and its like) ends the server
// at once if what it is about is not there, as with a pane that closed a moment ago. A Format
// holds such a field only inside a condition on what it is about; tmux expands no branch that
// is not taken.
package command
