package command

// Field is a variable that a server expands.
type Field int

// The fields. The manual of tmux explains each under its name there.
const (
	PaneID Field = iota
	PaneDead
	PaneInMode
	PaneInputOff
	PaneSynchronised
	PanePID
	PaneTTY
	PaneMode
	PaneTitle
	PaneCommand
	PaneStartCommand
	PaneIndex
	PaneActive
	PaneWidth
	PaneHeight
	Alternate
	BracketPaste
	CursorFlag
	CursorX
	CursorY
	HistorySize
	HistoryLimit
	WindowID
	WindowIndex
	WindowName
	WindowActive
	WindowPanes
	SessionID
	SessionName
	SessionAttached
	SessionActivity
	DestroyUnattached
	KeyTable
	ClientName
	ClientTTY
	ClientPID
	ClientSession
	ClientControl
	ClientActivity
	ClientKeyTable
	ClientFlags
	ClientWidth
	ClientHeight
	ClientUTF8
	ServerPID
	ServerStart
	ServerVersion
	ServerSocket
	ExitUnattached
)

// subject is the object that a field describes. It must exist for the field to have a value.
type subject int

const (
	server subject = iota // always there
	pane
	window
	session
	client
)

// there maps a subject to the field that has a value exactly if the subject exists.
var there = map[subject]Field{pane: PaneID, window: WindowID, session: SessionID, client: ClientName}

// kind is the form of a value.
type kind int

const (
	word    kind = iota // an id, a path, a name that tmux gave
	free                // any text, of a person or of a program
	number              // digits; empty if a version does not have the field
	instant             // seconds since 1970; up to 3.2a it crashes the server if its subject does not exist
)

// fields holds every field that is ever sent, including by the scripts of the plugin.
var fields = [...]struct {
	name string
	of   subject
	kind kind
}{
	PaneID:            {"pane_id", pane, word},
	PaneDead:          {"pane_dead", pane, number},
	PaneInMode:        {"pane_in_mode", pane, number},
	PaneInputOff:      {"pane_input_off", pane, number},
	PaneSynchronised:  {"pane_synchronized", pane, number},
	PanePID:           {"pane_pid", pane, number},
	PaneTTY:           {"pane_tty", pane, word},
	PaneMode:          {"pane_mode", pane, word},
	PaneTitle:         {"pane_title", pane, free},
	PaneCommand:       {"pane_current_command", pane, free},
	PaneStartCommand:  {"pane_start_command", pane, free},
	PaneIndex:         {"pane_index", pane, number},
	PaneActive:        {"pane_active", pane, number},
	PaneWidth:         {"pane_width", pane, number},
	PaneHeight:        {"pane_height", pane, number},
	Alternate:         {"alternate_on", pane, number},
	BracketPaste:      {"bracket_paste_flag", pane, number}, // from 3.7 on
	CursorFlag:        {"cursor_flag", pane, number},
	CursorX:           {"cursor_x", pane, number},
	CursorY:           {"cursor_y", pane, number},
	HistorySize:       {"history_size", pane, number},
	HistoryLimit:      {"history_limit", pane, number},
	WindowID:          {"window_id", window, word},
	WindowIndex:       {"window_index", window, number},
	WindowName:        {"window_name", window, free},
	WindowActive:      {"window_active", window, number},
	WindowPanes:       {"window_panes", window, number},
	SessionID:         {"session_id", session, word},
	SessionName:       {"session_name", session, free},
	SessionAttached:   {"session_attached", session, number},
	SessionActivity:   {"session_activity", session, instant},
	DestroyUnattached: {"destroy-unattached", session, word},
	KeyTable:          {"key-table", session, word},
	ClientName:        {"client_name", client, word},
	ClientTTY:         {"client_tty", client, word},
	ClientPID:         {"client_pid", client, number},
	ClientSession:     {"client_session", client, free},
	ClientControl:     {"client_control_mode", client, number},
	ClientActivity:    {"client_activity", client, instant},
	ClientKeyTable:    {"client_key_table", client, free},
	ClientFlags:       {"client_flags", client, word},
	ClientWidth:       {"client_width", client, number},
	ClientHeight:      {"client_height", client, number},
	ClientUTF8:        {"client_utf8", client, number},
	ServerPID:         {"pid", server, number},
	ServerStart:       {"start_time", server, number}, // an instant, but always there
	ServerVersion:     {"version", server, word},
	ServerSocket:      {"socket_path", server, word},
	ExitUnattached:    {"exit-unattached", server, number},
}

// String returns the name of a field in a format.
func (f Field) String() string { return fields[f].name }
