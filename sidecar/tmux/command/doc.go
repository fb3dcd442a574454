// Package command makes the commands that go to a tmux server, and is the only place that does:
// only its functions can make a Command, and whatever a server expands in a command is a Format,
// which can be made only from the table of fields. So no other code can write a format that kills a
// server.
//
// Up to tmux 3.2a a field that is an instant (session_activity and its like) crashes the server at
// once if the subject of the field does not exist, such as a pane that closed a moment ago. A
// Format therefore holds such a field only inside a condition on its subject; tmux expands no
// branch that is not taken.
package command
