package daemon_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// shelf has the contents of the files that models were told of, from the time when they were told.
type shelf struct {
	mu    sync.Mutex
	files map[string]string // by path; an error's text if the file could not be read
}

// reading makes all models read the files that they are told of, before they answer.
func (l *labRig) reading() *shelf {
	s := &shelf{files: map[string]string{}}
	l.lab.Model.Script(s.reply)
	return s
}

// reply has a model that is told of a file read it.
func (s *shelf) reply(x labtest.Exchange) (labtest.Reply, bool) {
	if x.Side != "" || len(x.User) == 0 {
		return labtest.Reply{}, false
	}
	_, line, _ := strings.Cut(unwrapped(x.User[len(x.User)-1]), "\n\n")
	m := attached.FindStringSubmatch(line)
	if m == nil {
		return labtest.Reply{}, false
	}
	data, err := os.ReadFile(m[2])
	if err != nil {
		data = []byte(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[m[2]] = string(data)
	return labtest.Reply{Text: "I read it first.", Read: m[2]}, true
}

// whole is the text that a model was told: the text that it received, or the one in the file that this names.
func (s *shelf) whole(heard string) (text, file string) {
	head, line, _ := strings.Cut(heard, "\n\n")
	m := attached.FindStringSubmatch(line)
	if m == nil {
		return heard, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return head + "\n\n" + s.files[m[2]], m[2]
}

// A text that is too long to be typed goes into a file. Each agent reads the file with its own tool, without asking
// anybody, whatever its working directory. When its turn is over, the file is gone.
func TestLab_V7_H21_LongTextIsReadWithoutAsking(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		s := l.reading()
		chat, _ := l.alone(a)
		n := 0
		for name, text := range longTexts() {
			if strings.Contains(name, "forger") {
				continue // the test of the stand-ins has that one
			}
			id := l.tellAll(chat, text)
			l.waitTold(id, a, "answered") // no dialog was in the way
			n++
			require.Len(t, a.heard(), n, name)
			got, file := s.whole(a.heard()[n-1])
			require.NotEmpty(t, file, "%s: %.300q", name, a.heard()[n-1])
			assert.True(t, got == "[tester] (0):\n\n"+text, "%s: %s", name, parting("[tester] (0):\n\n"+text, got))
			assert.NotContains(t, file, a.Work, "not in anybody's project")
			assert.NotContains(t, l.trailTo(id, a), "held: a dialog is open")
			all := a.Conversation()
			require.NotEmpty(t, all[len(all)-1].Results, name)
			answer := all[len(all)-1].Results[0].Text
			// A tool may cut a long text, or want it in pieces. The agent was allowed to read it.
			assert.NotRegexp(t, `(?i)denied|not in workspace|outside|rejected|no such file|does not exist`, answer, name)
			t.Logf("%s: %s answers %.120q", name, a.Kind, answer)
			l.until("the file is gone", func() bool { return !exists(file) })
		}
	})
}
