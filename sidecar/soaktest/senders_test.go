package soaktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// sender sends one word after another to one taker.
type sender struct {
	way, from, stream, to string
	share                 float64 // of the rate
	send                  func(ctx context.Context, w *soaktest.Word, text string) (soaktest.Answer, string)
}

// speakers are the programs that say something by themselves, and their takers.
var speakers = []string{"Dan", "Eve", "Hal", "Ivy", "Nia"}

func (w *world) senders() []sender {
	var all []sender
	for _, to := range []string{"Ann", "Ben", "Cyd"} {
		all = append(all, sender{"api", "here", "api-" + strings.ToLower(to), to, 3, w.byAPI(w.here, to)})
	}
	all = append(all, sender{"command", "here", "cli-ann", "Ann", 1, w.byCommand(w.here, "Ann")})
	for from, to := range map[string]string{"Dan": "Eve", "Eve": "Dan", "Hal": "Ivy", "Ivy": "Hal", "Nia": "Oto"} {
		all = append(all, sender{"chat", "here", "chat-" + strings.ToLower(from), to, 0.7, w.byMouth(w.here, from)})
	}
	all = append(all,
		sender{"link", "here", "link-out", "Far", 1.5, w.byAPI(w.here, "there/Far")},
		sender{"link", "there", "link-back", "Gus", 1.5, w.byAPI(w.there, "here/Gus")},
		sender{"talk", "here", "talk-send", w.port.name, 1, w.port.byCommand},
		sender{"api", "here", "api-kim", "Kim", 1, w.byAPI(w.here, "Kim")},
		sender{"mcp", "here", "mcp-kim", "Jan", 1, (&toolbox{c: w.here, agent: "Kim"}).call("Jan")},
		sender{"aea", "here", "aea-files", "Lea", 0.5, w.repos.byFile},
		sender{"stream", "here", "talk-stream", w.port.name, 2, w.port.byFrame()})
	whole := 0.0
	for _, s := range all {
		whole += s.share
	}
	for i := range all {
		all[i].share /= whole
	}
	return all
}

// plan returns what the senders plan to send.
func (w *world) plan() soaktest.Plan {
	p := soaktest.Plan{Rate: w.rate, Length: w.length, Shares: map[string]float64{}}
	for _, s := range w.senders() {
		p.Shares[s.way] += s.share
	}
	return p
}

// run sends until the time is over, at the sender's share of the rate on average. It makes up
// afterwards for words that could not be sent during a fault, at no more than twice that rate.
func (s sender) run(ctx context.Context, w *world) {
	every := time.Duration(float64(time.Second) / (w.rate * s.share))
	next := time.Now()
	base := 0
	for n := 1; ctx.Err() == nil; n++ {
		base = s.yield(ctx, w.taker(s.to), n, base)
		m := soaktest.Mark{Stream: s.stream, Seq: n}
		word := w.ledger.Begin(s.way, s.from, s.to, m)
		answer, why := s.send(context.WithoutCancel(ctx), word, textOf(m))
		w.ledger.Told(word, answer, why)
		next = next.Add(time.Duration(float64(every) * (0.5 + rand.Float64())))
		select {
		case <-ctx.Done():
		case <-time.After(max(time.Until(next), every/2)):
		}
	}
}

// ahead is the maximum number of words that a sender may have on their way. yields is how long it
// waits for the first of them to be taken before it takes them for lost.
const (
	ahead  = 5
	yields = 10 * time.Second
)

// yield waits until a taker has no more words on their way than it takes in a few seconds, whatever
// else the machine does: words that wait in a queue for minutes meet every fault, and prove nothing
// about it. base is the last of the words that are not waited for.
func (s sender) yield(ctx context.Context, to *program, n, base int) int {
	if to == nil {
		return base
	}
	for until := time.Now().Add(yields); ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		switch {
		case n-max(base, to.newest(s.stream)) <= ahead:
			return base
		case time.Now().After(until):
			return n
		}
	}
	return base
}

// textOf returns a text of some length with its mark in it.
func textOf(m soaktest.Mark) string {
	words := []string{"mostly", "short", "words", "of", "a", "build", "that", "went", "well", "日本語", "é", "tests", "and", "figures"}
	var b strings.Builder
	for range rand.IntN(12) {
		b.WriteString(words[rand.IntN(len(words))] + " ")
	}
	if rand.IntN(50) == 0 {
		b.WriteString(strings.Repeat("a long line of the same words ", 60))
	}
	return b.String() + m.String() + "."
}

// patience is how long a sender asks again with the same id before it gives up.
const patience = 60 * time.Second

// byAPI sends by a request of the API, as every front end does.
func (w *world) byAPI(c *computer, to string) func(context.Context, *soaktest.Word, string) (soaktest.Answer, string) {
	return func(ctx context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
		req := api.SendRequest{ID: message.NewID(), To: to, Text: text}
		return insist(word, func() (bool, bool, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			_, err := api.Call(ctx, c.client, api.Send, req)
			if err == nil {
				return true, false, nil
			}
			told, ok := errors.AsType[*api.Error](err)
			return false, ok && (told.Code == api.CodeFailed || told.Code == api.CodeUsage), err
		})
	}
}

// byCommand sends by `intercom send`.
func (w *world) byCommand(c *computer, to string) func(context.Context, *soaktest.Word, string) (soaktest.Answer, string) {
	return func(_ context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
		id := message.NewID()
		return insist(word, func() (bool, bool, error) {
			out, err := c.command("send", to, text, "--id", string(id), "--timeout", "0s").CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			failed, ok := errors.AsType[*exec.ExitError](err)
			switch {
			case err == nil || strings.HasPrefix(string(out), string(id)):
				return true, false, nil
			case ok && (failed.ExitCode() == 1 || failed.ExitCode() == 2):
				return false, true, err
			}
			return false, false, err
		})
	}
}

// insist asks until it gets an answer. A refusal counts only if no earlier attempt may have got
// through.
func insist(word *soaktest.Word, try func() (accepted, refused bool, err error)) (soaktest.Answer, string) {
	doubt := false
	var last error
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		word.Tries++
		accepted, refused, err := try()
		last = err
		switch {
		case accepted:
			return soaktest.Accepted, ""
		case refused && !doubt:
			return soaktest.Refused, firstLine(err)
		case !refused:
			doubt = true
		}
	}
	return soaktest.Unknown, firstLine(last)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// byMouth makes a program in a chat print the words.
func (w *world) byMouth(c *computer, name string) func(context.Context, *soaktest.Word, string) (soaktest.Answer, string) {
	return func(_ context.Context, _ *soaktest.Word, text string) (soaktest.Answer, string) {
		c.mu.Lock()
		p := c.panes[name]
		c.mu.Unlock()
		if err := persona.Control(p.control, ":say "+text); err != nil {
			return soaktest.Refused, firstLine(err)
		}
		return soaktest.Said, ""
	}
}
