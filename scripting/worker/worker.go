// Package worker is the code of the process in which policies run, and the only package that knows Lua. It does not
// trust the scripts that it runs: for each message a script gets a machine that is new or as good as new, counts its
// instructions, shows it values that it cannot change, and has no function that reaches out of the machine. Where this
// does not suffice, the limits of the process and its parent stop the script.
//
// A script is a pure function of the message, of the known surroundings, and of what it was allowed to remember. It
// returns what it wants to happen, so it may be killed at any instruction.
package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/inherited"
)

// Main runs a worker process: it gives up everything that it does not need, then answers requests until its input ends.
func Main(in io.Reader, out io.Writer) error {
	inherited.Close()
	if err := confine(); err != nil {
		return fmt.Errorf("confining the policy worker: %w", err)
	}
	return serve(in, out)
}

// maxArrayIndex keeps one assignment from filling the memory: values at higher indices go into the hash part of a
// table.
const maxArrayIndex = 1 << 16

// server is one worker. It has one set for all its life.
type server struct {
	in       *bufio.Reader
	out      io.Writer
	set      *set
	memories policy.Memories
	others   map[string]policy.Agent // known peers besides those of a request, by name
	config   map[string]any          // of the last request that had one
	last     last
}

// last is the result of the previous message.
type last struct {
	took  time.Duration // until the next message could be looked at
	alone bool          // it was left undecided, or it changes the memories for the next one
}

func serve(in io.Reader, out io.Writer) error {
	lua.MaxArrayIndex = maxArrayIndex
	s := &server{in: bufio.NewReaderSize(in, 64<<10), out: out, memories: policy.Memories{}, others: map[string]policy.Agent{}}
	for {
		q, blobs, err := wire.ReadRequest(s.in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		begun := time.Now()
		reply, texts := s.answer(q, blobs)
		reply.Used = processorTime()
		if err := wire.Write(s.out, &reply, texts); err != nil {
			if errors.Is(err, os.ErrClosed) {
				return nil
			}
			if err := wire.Write(s.out, &wire.Reply{Error: err.Error()}, nil); err != nil {
				return fmt.Errorf("writing a reply: %w", err)
			}
		}
		if s.set != nil {
			s.set.prepare() // after the reply is sent; the next message may be waiting already
		}
		s.last.took = time.Since(begun)
	}
}

func (s *server) answer(q wire.Request, blobs [][]byte) (wire.Reply, [][]byte) {
	switch {
	case q.Load != nil && s.set == nil:
		return s.load(*q.Load), nil
	case q.Evaluate != nil && s.set != nil && len(blobs) == 1:
		return s.evaluate(*q.Evaluate, string(blobs[0]))
	case q.Test != nil && s.set != nil && len(s.set.scripts) == 1:
		tested := runTests(s.set, *q.Test, func(n int) {
			_ = wire.Write(s.out, &wire.Reply{Running: &wire.Running{Script: q.Test.File.Name, Case: n}}, nil)
		})
		return wire.Reply{Tested: &tested}, nil
	}
	return wire.Reply{Error: "a request that does not fit"}, nil
}

func (s *server) load(q wire.Load) wire.Reply {
	var loaded wire.Loaded
	s.set, loaded = load(q, s.memories, func(name string) { s.announce(name, "") })
	return wire.Reply{Loaded: &loaded}
}

// announce tells the parent what is about to run. A parent that does not receive it will not receive the reply either.
func (s *server) announce(script string, hook policy.Hook) {
	_ = wire.Write(s.out, &wire.Reply{Running: &wire.Running{Script: script, Hook: hook}}, nil)
}

func (s *server) evaluate(q wire.Evaluate, body string) (wire.Reply, [][]byte) {
	for script, memory := range q.Memories {
		s.memories[script] = memory
	}
	for _, name := range q.Others.Gone {
		delete(s.others, name)
	}
	for _, a := range q.Others.Known {
		s.others[policy.NameOf(a.Address)] = a
	}
	if q.SameConfig {
		q.Input.Config = s.config
	} else if q.Input.Config != nil {
		s.config = q.Input.Config
	}
	if q.Behind > 0 && (s.last.alone || s.last.took > q.Behind) {
		s.last.alone = true
		return wire.Reply{Left: true}, nil
	}
	q.Input.Message.Body = body
	e := newEvaluation(s.set, q.Input, q.Avoid)
	e.others = s.others
	if q.Announce {
		e.announce = s.announce
	}
	v := e.run()
	s.last.alone = len(v.Effects) > 0
	s.set.served = e.states
	texts := &wire.Texts{Formatted: make([]*int, len(v.Outcomes))}
	var blobs [][]byte
	have := map[string]int{} // most recipients get the same text
	blob := func(text *string) *int {
		if text == nil {
			return nil
		}
		i, ok := have[*text]
		if !ok {
			i = len(blobs)
			have[*text] = i
			blobs = append(blobs, []byte(*text))
		}
		return &i
	}
	texts.Body = blob(v.Body)
	for i, o := range v.Outcomes {
		texts.Formatted[i] = blob(o.Formatted)
	}
	return wire.Reply{Verdict: &v, Texts: texts}, blobs
}
