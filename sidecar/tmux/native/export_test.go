package native

// What tests on real servers write themselves, to stop in the middle of it.
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

// Strict is the error of the first message of a client that a tmux which trusts its client would
// stumble over, where the server had said that.
func Strict(server, client []byte) error {
	m := model{open: map[int32]string{}}
	m.heard(server)
	return m.take(client)
}
