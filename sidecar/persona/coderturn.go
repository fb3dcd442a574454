package persona

import (
	"fmt"
	"strings"
	"time"
)

// step is one thing that a turn does.
type step struct {
	verb, rest string
	d          time.Duration // of work
}

// steps parses a script: "say before | tool Bash | work 1s | say after".
func steps(script string) ([]step, error) {
	all := []step{}
	for one := range strings.SplitSeq(script, "|") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(one), " ")
		s := step{verb: verb, rest: unescape(strings.TrimSpace(rest))}
		switch verb {
		case "say", "reply", "tool", "dialog", "ask", "hold", "stream", "side", "fail":
		case "work":
			var err error
			if s.d, err = time.ParseDuration(rest); err != nil {
				return nil, err
			}
		case "":
			continue
		default:
			return nil, fmt.Errorf("no step %q", verb)
		}
		all = append(all, s)
	}
	return all, nil
}

// take begins a turn for a submitted prompt. If the agent is working, the prompt waits or, if the agent steers, joins
// the turn.
func (c *coder) take(m message, pieces []piece) {
	if !c.working {
		c.begins(m, pieces, typed)
		return
	}
	if c.like.steers() {
		c.like.prompted(m.text, pieces, steered)
		c.tell(ofPerson, m.text)
		c.prompts = append(c.prompts, m)
		return
	}
	c.waiting = append(c.waiting, m)
	c.like.queued(m.text)
}

// next begins a turn for the first waiting prompt, if no turn is running.
func (c *coder) next() {
	if c.working || len(c.waiting) == 0 {
		return
	}
	m := c.waiting[0]
	c.waiting = c.waiting[1:]
	if m.n == 0 { // words that it says unasked
		c.script = []step{{verb: "say", rest: m.text}}
		c.begins(m, nil, itself)
		return
	}
	c.begins(m, []piece{{text: m.text}}, queued)
}

// begins starts a turn.
func (c *coder) begins(m message, pieces []piece, how string) {
	c.turn++
	c.working, c.began, c.prompts = true, time.Now(), nil
	if how != itself {
		c.prompts = []message{m}
		c.tell(ofPerson, m.text)
	}
	c.like.state("busy", "")
	c.like.prompted(m.text, pieces, how)
	script := c.script
	if c.script = nil; script == nil {
		script = []step{{verb: "work", d: c.think + c.spinner}, {verb: "reply"}}
	}
	c.spin()
	c.perform(script, c.turn, "")
}

// perform does the remaining steps of a turn. words is what was said since the last call of a tool.
func (c *coder) perform(script []step, turn int, words string) {
	for i, s := range script {
		rest := script[i+1:]
		goOn := func() {
			if c.turn == turn {
				c.perform(rest, turn, words)
				c.show()
			}
		}
		switch s.verb {
		case "say":
			words = s.rest
			c.says(words, c.prompts)
			c.prompts = nil
		case "reply":
			if text, ok := c.replies(); ok {
				words = text
			}
		case "side":
			c.like.aside(s.rest)
		case "work":
			c.loop.after(s.d, goOn)
			return
		case "hold":
			c.held = goOn
			return
		case "stream":
			c.tell(ofAgent, s.rest)
			c.partial = s.rest
			c.held = func() {
				c.partial, words = "", s.rest
				c.like.spoke(s.rest)
				goOn()
			}
			return
		case "tool":
			words = ""
			t := call{id: newID(), name: s.rest, input: "true"}
			c.tell(ofTool, s.rest)
			c.like.called(t)
			c.like.answered(t, false)
		case "dialog", "ask":
			c.requests(s, turn, rest)
			return
		case "fail":
			c.fails(s.rest)
			return
		}
	}
	if len(c.prompts) > 0 { // given during the turn
		if text, ok := c.replies(); ok {
			words = text
		}
	}
	c.like.ended(words)
	c.tell(ofEnd, "")
	c.rest()
}

// requests calls a tool that needs a person's permission or answer.
func (c *coder) requests(s step, turn int, rest []step) {
	t, shows := call{id: newID(), name: "Bash", input: s.rest}, showsDialog
	if s.verb == "ask" {
		t.name, shows = "AskUserQuestion", showsQuestion
	}
	c.like.called(t)
	c.asks(shows, s.rest, func(choice int) {
		if c.turn != turn {
			return
		}
		denied := choice > 1 || s.verb == "dialog" && choice > 0
		c.like.answered(t, denied)
		if denied {
			c.like.interrupted("", true)
			c.stop()
			return
		}
		c.tell(ofTool, s.rest)
		c.perform(rest, turn, "")
	})
}

// replies answers the prompts without an answer, as --reply says.
func (c *coder) replies() (words string, ok bool) {
	prompts := c.prompts
	c.prompts = nil
	for _, m := range prompts {
		text, spoken := c.reply.to(m.n, m.text)
		if !spoken {
			c.log.add(Record{Event: EventSilent, N: m.n})
			continue
		}
		c.says(text, []message{m})
		words, ok = text, true
	}
	return words, ok
}

// says says text in answer to some prompts.
func (c *coder) says(text string, to []message) {
	c.tell(ofAgent, text)
	c.like.spoke(text)
	for _, m := range to {
		c.log.add(Record{Event: EventSaid, N: m.n, Text: text})
	}
}

// interrupt stops the turn, as Esc does.
func (c *coder) interrupt() {
	c.question = nil
	c.like.interrupted(c.partial, false)
	c.stop()
}

func (c *coder) stop() {
	c.tell(ofInterrupted, "")
	c.rest()
}

// fails ends the turn with an error from the model's service.
func (c *coder) fails(text string) {
	if text == "" {
		text = "529 the service is overloaded"
	}
	c.like.failed(text)
	c.tell(ofError, text)
	c.rest()
}

// rest ends the turn and begins the next one.
func (c *coder) rest() {
	c.turn++
	c.working, c.held, c.prompts, c.partial = false, nil, nil, ""
	c.like.state("idle", "")
	c.log.add(Record{Event: EventReady})
	c.next()
}

// tell adds one paragraph to the conversation.
func (c *coder) tell(kind, text string) {
	c.told = append(c.told, paragraph{kind, text})
	if n := len(c.told) - 200; n > 0 {
		c.told = c.told[n:]
	}
}
