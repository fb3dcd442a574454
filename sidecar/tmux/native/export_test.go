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
