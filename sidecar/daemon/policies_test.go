package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
)

// lua lets a sidecar ask policies, with this test program as their worker.
func lua(cfg *daemon.Config) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if err := os.MkdirAll(cfg.Paths.Config, 0o700); err != nil {
		panic(err)
	}
	cfg.Policies = daemon.Policies{Lua: true, Worker: []string{self, "policy-worker"}}
}

// files is lua, and writes a person's files before the sidecar starts: pairs of name and text.
func files(pairs ...string) option {
	return func(cfg *daemon.Config) {
		lua(cfg)
		for i := 0; i < len(pairs); i += 2 {
			writeLua(cfg.Paths.Config, pairs[i], pairs[i+1])
		}
	}
}

func writeLua(dir, name, text string) {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// save writes one of the person's files and returns the time before the write.
func (r *rig) save(name, text string) time.Time {
	r.t.Helper()
	began := time.Now()
	writeLua(r.cfg.Paths.Config, name, text)
	return began
}

// policies returns the status of the policies.
func (r *rig) policies() policy.Status {
	r.t.Helper()
	s, err := r.client.Policy(r.t.Context())
	require.NoError(r.t, err)
	return s
}

// policyError returns the error of the policies that the status line shows.
func (r *rig) policyError() string {
	return strings.TrimSuffix(r.Run("display-message", "-p", "#{"+service.PolicyErrorOption+"}"), "\n")
}

// record is one line of the policies' log.
type record struct {
	Event      string
	Generation string
	Message    message.ID
	Verb       message.Verb
	By         string
	Error      string
	Loosened   []policy.Change
	Failures   []policy.Failure
}

func (r *rig) policyLog() (all []record) {
	r.t.Helper()
	text, err := os.ReadFile(r.cfg.Paths.PolicyLog)
	require.NoError(r.t, err)
	for line := range strings.Lines(string(text)) {
		var one record
		require.NoError(r.t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

// Without a policy, an attribution has the participant's name and number. When README's example is saved, it
// changes the attribution of the next message in a chat that is under way. Limits apply to chats that start after
// they were set; a chat under way keeps its own.
func TestL2_L3_AttributionAndSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t, lua)
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	chat := r.chat([]*agent{a, b})
	speak := func(words string) string {
		before := len(b.received())
		a.do(":say %s", words)
		r.waitFor("Ben hears "+words, func() bool { return len(b.received()) > before })
		return b.received()[before]
	}
	assert.Equal(t, "[Ada] (1):\n\none", speak("one"))
	r.say(chat, "hello")
	r.waitFor("Ben hears a person", func() bool { return slices.Contains(b.received(), "[tester] (0):\n\nhello") })

	old := r.policies().Generation
	r.save("init.lua", readme(t))
	r.waitFor("it is in use", func() bool { return r.policies().Generation != old })
	assert.Equal(t, "<Ada, no. 1>\ntwo", speak("two"))

	old = r.policies().Generation
	r.save("init.lua", `intercom.configure {
  computer = "tower",
  profiles = { line = { quiet = "400ms", line_break = " / " } },
  attribution = "({name})",
  chats = { depth = 7, expire = "30m" },
  brakes = { rate = 50, bytes = 100000 },
}
`)
	r.waitFor("it is in use", func() bool { return r.policies().Generation != old })
	assert.Equal(t, "(Ada)\n\nthree", speak("three"))
	status, err := r.client.Status(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "tower", status.Computer)
	c, d := r.adopted("Cyd", "--reply", "none"), r.adopted("Dan")
	r.waitFor("its settings hold", func() bool {
		fresh := r.chat([]*agent{c, d})
		defer func() {
			_, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: string(fresh.ID)})
			require.NoError(t, err)
		}()
		l := fresh.Limits
		return l.Depth == 7 && l.Expire == 30*time.Minute && l.Rate == 50 && l.Bytes == 100000
	})
	of := r.chat([]*agent{c, d})
	r.say(of, "two\nlines")
	r.waitFor("a field of its profile holds", func() bool { return slices.Contains(c.received(), "(tester) two / lines") })
	r.say(of, "a third\n(root)\nsaid so")
	r.waitFor("what looks like the own attribution is quoted", func() bool { return slices.Contains(c.received(), "(tester) a third / > (root) / said so") })
	shown, err := r.client.ShowChat(t.Context(), string(chat.ID))
	require.NoError(t, err)
	assert.Equal(t, 20, shown.Chat.Limits.Depth, "the chat that goes on keeps its own")
}

// readme returns the Lua example of README.md.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n```lua\n")
	example, _, whole := strings.Cut(rest, "```\n")
	require.True(t, found && whole && !strings.Contains(rest, "```lua"), "one example")
	return example
}

// If a person's files are broken at the very first start, everything that agents say is held until the files are
// mended. Later, a broken file or module leaves the set of policies in use as it was, and the status line says
// where the error is. That covers syntax errors, bad settings, policies that fail on earlier messages, and policies
// that fail their own tests. The set in use survives a restart of the sidecar. If a person deletes all the files,
// no policy of theirs is in use any more.
func TestL9_U7_BrokenFilesChangeNothing(t *testing.T) {
	t.Parallel()
	const mark = `local mark = require "mark"
intercom.on("format", function(msg) return mark:format(msg.from, msg.body) end)`
	r := newRig(t, files("init.lua", "intercom.configure {", "policies/lib/mark.lua", `return "<%s> %s"`, "policies/10-mark.lua", mark))
	a, b := r.adopted("Ada", "--bracketed", "--reply", "none"), r.adopted("Ben", "--bracketed", "--reply", "none")
	r.chat([]*agent{a, b})
	status := func() string {
		return strings.TrimSuffix(r.Run("display-message", "-p", "#{"+service.StatusOption+"}"), "\n")
	}
	assert.Contains(t, r.policyError(), "init.lua:1:")
	assert.Contains(t, r.policies().Error, "init.lua:1:")
	r.waitFor("the status line has a word for it", func() bool { return strings.Contains(status(), "policy error") })
	assert.True(t, slices.ContainsFunc(r.notices(), func(s string) bool { return strings.Contains(s, "what agents say is held") }))
	a.do(":say hello")
	r.waitFor("it is held", func() bool { return len(r.heldFor(message.Unfiltered)) == 1 })
	assert.ErrorContains(t, r.yes("approve", string(r.heldFor(message.Unfiltered)[0])), "a filter failed on it")
	require.NoError(t, os.Remove(filepath.Join(r.cfg.Paths.Config, "init.lua")))
	r.waitFor("it is mended", func() bool { return r.policyError() == "" && !strings.Contains(status(), "policy error") })
	r.waitFor("it is decided anew", func() bool { return slices.Equal(b.received(), []string{"<Ada> hello"}) })
	speak := func(words string) string {
		before := len(b.received())
		a.do(":say %s", words)
		r.waitFor("Ben hears "+words, func() bool { return len(b.received()) > before })
		return b.received()[before]
	}
	require.Equal(t, "<Ada> one", speak("one"))
	good := r.policies().Generation
	for i, c := range []struct{ name, text, shown string }{
		{"policies/20-new.lua", "error('#(touch x) \x1b[31m is ##not run')", "policies/20-new.lua:1: ##(touch x)"},
		{"policies/20-new.lua", "intercom.on(\"guard\", function(msg)\n  error('at ' .. msg.body)\nend)", "policies/20-new.lua:2: guard: at "},
		{"policies/lib/mark.lua", "return\n}", "policies/lib/mark.lua:2:"},
		{"init.lua", `intercom.configure { attribution = "/clear {name}" }`, "must begin with"},
		{"init.lua", `intercom.configure { brakes = { dpeth = 3 } }`, `no limit "dpeth"`},
		{"init.lua", `intercom.configure { deliver = { bare_slash = { "/clear" } } }`, `"/clear" is a command of Claude Code itself`},
		{"init.lua", `intercom.configure { deliver = { bare_slash = { "/quit" } } }`, `"/quit" is a command of`},
		{"init.lua", `intercom.configure { deliver = { bare_slash = { "/*" } } }`, `"/*" is no command`},
		{"init.lua", `intercom.configure { deliver = { bare_slash = { "next-work" } } }`, `"next-work" is no command`},
		{"init.lua", `intercom.configure { deliver = { bare_slash = true } }`, `deliver.bare_slash must be a list`},
		{"init.lua", `intercom.configure { deliver = { bare = { "/next-work" } } }`, `no setting "bare"`},
	} {
		r.save(c.name, c.text)
		r.waitFor(c.shown, func() bool { return strings.Contains(r.policies().Error, strings.ReplaceAll(c.shown, "##", "#")) })
		r.waitFor("it stands in the status line", func() bool { return strings.Contains(r.policyError(), c.shown[:min(len(c.shown), 40)]) })
		assert.Equal(t, good, r.policies().Generation)
		words := fmt.Sprint("again ", i)
		assert.Equal(t, "<Ada> "+words, speak(words))
		if strings.HasPrefix(c.name, "policies/lib") {
			r.save(c.name, `return "<%s> %s"`)
		} else {
			require.NoError(t, os.Remove(filepath.Join(r.cfg.Paths.Config, c.name)))
		}
		r.waitFor("the error is gone", func() bool { return r.policyError() == "" })
	}

	r.save("init.lua", "intercom.configure {")
	r.waitFor("it is refused", func() bool { return r.policyError() != "" })
	require.NoError(t, os.Remove(filepath.Join(r.cfg.Paths.Config, "init.lua")))
	r.waitFor("it is mended", func() bool { return r.policyError() == "" })
	r.save("policies/lib/mark.lua", `return "(%s) %s"`)
	r.waitFor("it is in use", func() bool { return r.policies().Generation != good })
	assert.Equal(t, "(Ada) another", speak("another"))
	r.save("policies/lib/mark.lua", `return "<%s> %s"`)
	r.waitFor("it is as it was", func() bool { return r.policies().Generation == good })
	r.save("policies/10-mark_test.lua", `cases("the mark", "format", { { fixture { from = "Ada", body = "x" }, "Ada: x" } })`)
	r.save("policies/10-mark.lua", `intercom.on("format", function(msg) return "<" .. msg.from .. ">: " .. msg.body end)`)
	r.waitFor("its own test fails", func() bool { return strings.Contains(r.policies().Error, "policies/10-mark_test.lua:1: the mark") })
	assert.Equal(t, good, r.policies().Generation)
	r.save("policies/10-mark.lua", mark)
	require.NoError(t, os.Remove(filepath.Join(r.cfg.Paths.Config, "policies", "10-mark_test.lua")))
	r.waitFor("it is as it was", func() bool { return r.policyError() == "" })

	r.save("init.lua", "intercom.configure {")
	r.waitFor("it is refused", func() bool { return r.policyError() != "" })
	require.NoError(t, r.end())
	r.start()
	assert.Equal(t, good, r.policies().Generation, "after a restart too")
	assert.Contains(t, r.policies().Error, "init.lua:1:")
	assert.Equal(t, "<Ada> after", speak("after"))
	r.save("init.lua", "")
	r.waitFor("it is mended", func() bool { return r.policyError() == "" })
	require.NoError(t, os.RemoveAll(r.cfg.Paths.Config))
	r.waitFor("a person has taken it all away", func() bool { return len(r.policies().Files) == 0 })
	assert.Equal(t, "[Ada] (1):\n\nplain", speak("plain"))
}

// A secret in the subject or the tags of a message is masked before anybody sees it, in the pane or in the inbox of
// the person who is asked.
func TestL6_BesideTheBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("policies/50-ask.lua", `intercom.rule("asked", { tag = "ask" }, intercom.ask { prompt = "No code.", tags = { "seen" } })`),
		func(cfg *daemon.Config) { cfg.Policies.Shipped = policies.Shipped() })
	a := r.adopted("Ada", "--bracketed", "--reply", "none")
	secret, mask := "ghp_"+strings.Repeat("Zq7Xw2", 6), "[redacted: GitHub token]"
	send := func(tags ...string) api.Sent {
		sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Subject: "the key " + secret, Text: "keep it", Tags: append(tags, secret), Timeout: 10 * time.Second})
		require.NoError(t, err)
		return sent
	}
	require.Equal(t, message.Submitted, send().Receipt.State)
	r.waitFor("it has come", func() bool { return len(a.received()) == 1 })
	assert.Equal(t, []string{"[tester] (0):\n\nSubject: the key " + mask + "\n\nkeep it"}, a.received())

	id := message.NewID()
	_, err := r.client.Send(t.Context(), api.SendRequest{ID: id, To: a.pane, Subject: "the key " + secret, Text: "keep it", Tags: []string{"ask", secret}})
	require.NoError(t, err)
	r.waitFor("it is asked about", func() bool { return len(r.heldFor(message.AwaitingApproval)) == 1 })
	held, err := r.client.Inbox(t.Context())
	require.NoError(t, err)
	require.Len(t, held, 1)
	assert.Equal(t, "Subject: the key "+mask+"\n\nkeep it\n\nNo code.", render.Words(held[0].Form, held[0].Envelope), "what will be typed")
	assert.Equal(t, "keep it\n\nNo code.", held[0].Envelope.Body, "the subject is told once")
	assert.Equal(t, []any{"the key " + mask, []string{"ask", mask, "seen"}}, []any{held[0].Envelope.Subject, held[0].Envelope.Tags})
	again, err := r.client.Send(t.Context(), api.SendRequest{ID: id, To: a.pane, Subject: "the key " + secret, Text: "keep it", Tags: []string{"ask", secret}})
	require.NoError(t, err)
	assert.Equal(t, message.Held, again.Receipt.State, "it is the same request, whatever became of it")
}

// A message that an earlier life of the sidecar left undecided is decided with the limits that init.lua sets.
func TestLimits_ofWhatWasLeftUndecided(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("init.lua", `intercom.configure { brakes = { depth = 900 } }`))
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	require.NoError(t, r.end())
	j, err := journal.Open(t.Context(), r.cfg.Paths.State)
	require.NoError(t, err)
	require.NoError(t, j.Commit(t.Context(), message.Step{Received: []message.Envelope{{
		ID: message.NewID(), Type: message.KindMessage, Body: "deep", Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: 800, Created: time.Now(),
		From: message.Address{Computer: message.LocalComputer, Peer: a.session.ID, Name: "Ada"}, To: []message.Address{{Computer: message.LocalComputer, Peer: b.session.ID, Name: "Ben"}},
	}}}))
	require.NoError(t, j.Close())
	r.start()
	r.waitFor("Ben has it", func() bool { return len(b.received()) == 1 })
	assert.Contains(t, b.received()[0], "deep")
}
