package link

import "github.com/nats-io/nats.go"

// Sign signs what the computer says whose key lies in dir.
func Sign(dir, subject string, data []byte) (*nats.Msg, error) {
	id, err := loadIdentity(dir)
	if err != nil {
		return nil, err
	}
	return id.sign(subject, data)
}

// ToSubject is where a computer's mail goes.
func ToSubject(to, from string) string { return toSubject(to, from) }

// AskSubject is where a computer is asked.
func AskSubject(to, from string) string { return askSubject(to, from) }
