package native

// Messages for tests that write to real servers themselves, to stop in the middle.
var (
	Request = func(pid int, argv ...string) []byte {
		m, err := request(pid, argv)
		if err != nil {
			panic(err)
		}
		return m.Bytes()
	}
	Input = func(stream int32, text []byte) []byte { return input(stream, text).Bytes() }
)

// Strict returns the error for the first message of a client that a tmux which trusts its client
// would stumble over, after the server's messages.
func Strict(server, client []byte) error {
	m := model{open: map[int32]string{}}
	m.heard(server)
	return m.take(client)
}
