package policyset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// question returns a question about a message from Ada to Ben and Cyd in a chat; Dan is in the registry too.
func question(body string) relay.Question {
	var sessions []message.Peer
	for _, name := range []string{"Ada", "Ben", "Cyd", "Dan"} {
		sessions = append(sessions, message.Peer{ID: message.ID("id-" + name), Name: name, Computer: message.LocalComputer, PaneOf: message.PaneOf{Profile: "claude"}, State: message.Idle})
	}
	chat := message.Chat{ID: "chat", Name: "review", State: message.ChatOn}
	for i, s := range sessions[:3] {
		chat.Participants = append(chat.Participants, message.Participant{Peer: s.ID, Name: s.Name, Number: i + 1, MaySpeak: true})
	}
	return relay.Question{
		Message: message.Envelope{
			ID: "m", Thread: "chat", Type: message.KindTurn, Body: body, Origin: message.OriginAgent,
			From: message.Address{Peer: "id-Ada", Name: "Ada", Number: 1},
		},
		Chat: &chat, Targets: sessions[1:3], Snapshot: registry.New(sessions, []message.Chat{chat}),
	}
}

// decided returns a verdict of policies about a question, with a decision for each target.
func decided(q relay.Question, decisions ...policy.Decision) policy.Verdict {
	v := policy.Verdict{Message: q.Message.ID, Generation: "g", Outcomes: []policy.Outcome{}}
	for i, d := range decisions {
		v.Outcomes = append(v.Outcomes, policy.Outcome{To: addressOf(q.Targets[i], q.Chat), Decision: d})
	}
	return v
}

var (
	deliver = policy.Decision{Verb: message.VerbDeliver, By: policy.BuiltIn}
	ask     = policy.Decision{Verb: message.VerbAsk, Reason: "why", By: "x.lua:1", Notify: "popup", Expires: time.Hour, Otherwise: message.VerbDrop}
)

func TestVerdictOf_whatHoldsForAll(t *testing.T) {
	q := question("b")
	idle := deliver
	idle.Idle = true
	assert.True(t, verdictOf(q, decided(q, deliver, idle), "").For("id-Cyd").Idle)
	assert.True(t, verdictOf(q, decided(q, idle, idle), "").For("id-Ben").Idle)
	v := verdictOf(q, decided(q, deliver, deliver), "")
	assert.Equal(t, message.Verdict{Message: "m", Decision: message.Decision{Verb: message.VerbDeliver, By: policy.BuiltIn}, Generation: "g"}, v, "nothing for single targets")
	v = verdictOf(q, decided(q, ask, ask), "")
	assert.Equal(t, message.Outcome{
		Target: "id-Ben", Decision: message.Decision{Verb: message.VerbAsk, Reason: "why", By: "x.lua:1", Expires: time.Hour, Otherwise: message.VerbDrop, Notify: true, Offer: true},
	}, v.For("id-Ben"))
	assert.Empty(t, v.Outcomes)
}

// A recipient that is added between question and answer gets the strictest of the decisions.
func TestVerdictOf_strangersGetTheStrictest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := question("b")
		verbs := rapid.SliceOfN(rapid.SampledFrom(policy.Verbs()), 2, 2).Draw(t, "verbs")
		v := verdictOf(q, decided(q, policy.Decision{Verb: verbs[0]}, policy.Decision{Verb: verbs[1]}), "")
		for i, target := range q.Targets {
			require.Equal(t, verbs[i], v.For(target.ID).Verb)
			require.GreaterOrEqual(t, policy.Rank(v.For("stranger").Verb), policy.Rank(verbs[i]))
		}
	})
}

// The text for an author when nobody decides in time is part of the waiting outcome.
func TestVerdictOf_textOfWhatItEndsAs(t *testing.T) {
	q := question("b")
	ends := ask
	ends.Otherwise, ends.Text = message.VerbAck, "seen"
	v := verdictOf(q, decided(q, ends, ask), "")
	assert.Equal(t, []any{message.VerbAck, "seen"}, []any{v.For("id-Ben").Otherwise, v.For("id-Ben").Text})
	assert.Empty(t, v.For("id-Cyd").Text)
}

func TestVerdictOf_later(t *testing.T) {
	q := question("b")
	v := verdictOf(q, decided(q, policy.Decision{Verb: message.VerbDeliver, After: time.Minute}, deliver), "")
	o := v.For("id-Ben")
	assert.Equal(t, []any{message.VerbHold, time.Minute, message.VerbDeliver, "to go in 1m"}, []any{o.Verb, o.Expires, o.Otherwise, o.Reason})
	assert.Equal(t, message.VerbDeliver, v.For("id-Cyd").Verb)
}

func TestVerdictOf_texts(t *testing.T) {
	q := question("the words")
	masked := "the ***"
	for name, c := range map[string]struct {
		form      string // of attribution
		header    string
		formatted string
		prompt    string
		head, sep string
		body      *string
	}{
		"nothing":                     {},
		"own attribution":             {form: "<{name} {number}>", head: "<Ada 1>", sep: "\n\n"},
		"own separator":               {form: "{name}: ", head: "Ada:", sep: " "},
		"with the header":             {form: "<{name}>", header: render.HeaderBoth, head: "AI[local:id-Ada] | <Ada>", sep: "\n\n"},
		"formatted":                   {formatted: "From Ada\n" + masked + "\n--", head: "From Ada", sep: "\n", body: text(masked + "\n--")},
		"formatted wins":              {form: "<{name}>", formatted: "Ada: " + masked, head: "Ada:", sep: " ", body: text(masked)},
		"a command":                   {formatted: "/clear " + masked, body: text("/clear " + masked)},
		"the body at once":            {formatted: masked + " said Ada", body: text(masked + " said Ada")},
		"without the body":            {formatted: "Ada said something", body: text("Ada said something")},
		"prompt":                      {prompt: "No code.", body: text(masked + "\n\nNo code.")},
		"formatted, and prompt":       {formatted: "Ada: " + masked, prompt: "No code.", head: "Ada:", sep: " ", body: text(masked + "\n\nNo code.")},
		"blanks are no head":          {formatted: "  \n" + masked, body: text("  \n" + masked)},
		"a head that is a lone digit": {formatted: "1 " + masked, body: text("1 " + masked)},
	} {
		t.Run(name, func(t *testing.T) {
			q.Chat.Limits.Header = c.header
			in := decided(q, deliver, deliver)
			in.Body = &masked
			in.Outcomes[0].Prompt = c.prompt
			if c.formatted != "" {
				in.Outcomes[0].Formatted = &c.formatted
			}
			v := verdictOf(q, in, c.form)
			o := v.For("id-Ben")
			assert.Equal(t, c.head, o.Head)
			assert.Equal(t, c.sep, o.Separator)
			assert.Equal(t, c.body, o.Body)
			assert.Equal(t, &masked, v.Body)
		})
	}
}

// The person's own form begins with the name, and a name may begin with a digit: an agent could take such a head for
// a command, so the message gets the built-in one.
func TestVerdictOf_ownFormThatANameMakesInvalid(t *testing.T) {
	q := question("the words")
	q.Message.From.Name = "7b-coder"
	for i, p := range q.Chat.Participants {
		if p.Peer == q.Message.From.Peer {
			q.Chat.Participants[i].Name = "7b-coder"
		}
	}
	for form, want := range map[string]string{"{name} ({number}) says:": "", "<{name}>": "<7b-coder>"} {
		o := verdictOf(q, decided(q, deliver, deliver), form).For("id-Ben")
		assert.Equal(t, want, o.Head, form)
		assert.Equal(t, form, verdictOf(q, decided(q, deliver, deliver), form).Own, "what looks like it is quoted all the same")
	}
}

func text(s string) *string { return &s }

// The prompt for a repository's agent is separate from the text. Only a repository combines the two, not anybody who
// gives a message the same key.
func TestVerdictOf_promptOfAFile(t *testing.T) {
	q := question("words")
	q.Message.Meta = map[string]string{repository.MetaPrompt: ""}
	in := decided(q, policy.Decision{Verb: message.VerbDeliver, Prompt: "No code."}, deliver)
	assert.Equal(t, "words\n\nNo code.", *verdictOf(q, in, "").For("id-Ben").Body, "a pane's")

	known := q.Snapshot.Peers()
	q.Snapshot = registry.New(append(known, message.Peer{ID: "repo", Name: "repo", Kind: message.PeerRepository, Key: "/r"}), nil)
	q.Message.From = message.Address{Peer: "repo"}
	v := verdictOf(q, in, "")
	assert.Nil(t, v.For("id-Ben").Body)
	m := v.Patched(q.Message)
	assert.Equal(t, []string{"words", "No code."}, []string{m.Body, m.Meta[repository.MetaPrompt]})
}

// Changes by filters to subject, tags and meta reach the deliveries like changes to the body, together with the tags
// that a decision adds; the prompt follows the text of a message with a subject too.
func TestVerdictOf_besideTheBody(t *testing.T) {
	q := question("words")
	q.Message.Thread, q.Chat, q.Message.Subject, q.Message.Tags = "", nil, "the key 123", []string{"123"}
	q.Message.To, q.Message.Meta = []message.Address{{Name: "Ben"}, {Name: "Cyd"}}, map[string]string{"k": "123", "l": "1"}
	in := decided(q, policy.Decision{Verb: message.VerbAsk, Prompt: "No code.", Tags: []string{"asked"}}, deliver)
	in.Subject, in.Tags, in.Meta = text("the key ***"), &[]string{"***"}, map[string]string{"k": "***"}
	v := verdictOf(q, in, "")
	v.Verb = message.VerbDeliver // that of a target is for the relay
	planned := route.Plan(q.Message, v, q.Snapshot, nil)
	require.Len(t, planned, 2)
	for _, d := range planned {
		m := d.Message
		assert.Equal(t, []any{"the key ***", "Subject: the key ***\n\nwords", []string{"***"}}, []any{m.Subject, render.Words(d.Form, m), m.Tags})
		assert.Equal(t, map[string]string{"k": "***", "l": "1"}, m.Meta)
	}
	assert.Equal(t, map[string]string{"k": "123", "l": "1"}, q.Message.Meta, "it is not changed itself")
	o := v.For("id-Ben")
	asked := message.Envelope{Subject: planned[0].Message.Subject, Body: *o.Body}
	assert.Equal(t, "Subject: the key ***\n\nwords\n\nNo code.", render.Words(message.Form{AsIs: o.AsIs}, asked))
	assert.Equal(t, []string{"asked"}, v.For("id-Ben").Tags)
	assert.Empty(t, v.For("id-Cyd").Tags)
}

// A name in a route must be that of a session, and a name in the floor that of a present participant.
func TestVerdictOf_namesAndFloor(t *testing.T) {
	q := question("b")
	in := decided(q, deliver)
	in.Outcomes[0].To, in.Route = message.Address{Name: "Dan"}, []string{"Dan"}
	v := verdictOf(q, in, "<{name}>")
	assert.Equal(t, []message.Address{{Computer: message.LocalComputer, Peer: "id-Dan", Name: "Dan"}}, v.To)
	assert.Empty(t, v.For("id-Dan").Head, "who is in no chat gets the header")
	in.Route = []string{"Eve"}
	v = verdictOf(q, in, "")
	assert.Equal(t, message.VerbHold, v.Verb)
	assert.Contains(t, v.Reason, `"Eve"`)
	assert.True(t, v.Notify)

	for want, floor := range map[message.ID][]string{"id-Ben": {"Ben"}, message.Everybody: {"Ben", "all"}, "": {"Dan", "nobody"}} {
		in := decided(q, deliver, deliver)
		in.Floor = floor
		got := verdictOf(q, in, "").Floor
		if want == "" {
			assert.Empty(t, got, "%v", floor)
		} else {
			assert.Equal(t, []message.ID{want}, got)
		}
	}
}

func TestVerdictOf_unfiltered(t *testing.T) {
	q := question("b")
	q.Targets = nil
	v := verdictOf(q, policy.Verdict{Unfiltered: true}, "")
	assert.Equal(t, []any{message.VerbHold, true, true}, []any{v.Verb, v.Unfiltered, v.Notify})
}

func TestAsked(t *testing.T) {
	q := question("b")
	v := asked(verdictOf(q, decided(q, deliver, policy.Decision{Verb: message.VerbDrop, Reason: "r"}), ""), "files")
	assert.Equal(t, []message.Verb{message.VerbAsk, message.VerbDrop}, []message.Verb{v.For("id-Ben").Verb, v.For("id-Cyd").Verb})
	assert.Equal(t, message.VerbAsk, asked(verdictOf(q, decided(q, deliver, deliver), ""), "files").Verb)
	later, soon := deliver, ask
	later.After, soon.Otherwise = time.Minute, message.VerbDeliver
	v = asked(verdictOf(q, decided(q, later, soon), ""), "files")
	assert.Equal(t, message.Decision{Verb: message.VerbHold, Reason: "files", By: policy.BuiltIn}, v.For("id-Ben").Decision, "it does not go in a minute")
	assert.Equal(t, message.Decision{Verb: message.VerbAsk, Reason: "files", By: policy.BuiltIn, Notify: true, Offer: true}, v.For("id-Cyd").Decision)
	kept := message.Decision{Verb: message.VerbAsk, Reason: "why", By: "x.lua:1", Notify: true, Offer: true}
	assert.Equal(t, kept, asked(verdictOf(q, decided(q, ask, ask), ""), "files").Decision, "nor is it dropped")
}

// What scripts see of a question: who is there, with their numbers in the chat, and where the author and recipients
// work.
func TestInputOf(t *testing.T) {
	q := question("b")
	q.Chat.Floor = []message.ID{"id-Ben"}
	in := inputOf(q, noon, map[message.ID]Workplace{"id-Ada": {Project: "/p"}, "id-Ben": {Project: "/p", Repository: "/r"}, "id-Cyd": {}, "id-Dan": {Project: "/other"}}, message.VerbAsk)
	assert.Equal(t, []string{"/p"}, in.Projects)
	assert.Equal(t, []string{"Ada", "Ben", "Cyd"}, in.Chat.Participants)
	assert.Equal(t, []message.Address{
		{Computer: message.LocalComputer, Peer: "id-Ben", Name: "Ben", Number: 2}, {Computer: message.LocalComputer, Peer: "id-Cyd", Name: "Cyd", Number: 3},
	}, in.To)
	require.Len(t, in.Agents, 3)
	var may []bool
	for _, a := range in.Agents {
		may = append(may, a.MaySpeak)
	}
	assert.Equal(t, []bool{false, true, false}, may)
	assert.Equal(t, "/p", in.Agents[1].Project, "a route to it has that asked")
	assert.Equal(t, message.VerbAsk, in.Otherwise)
}

func TestKept(t *testing.T) {
	var k kept
	files := func(n string) policy.Files { return policy.Files{Sources: []policy.Source{{Name: "a", Text: n}}} }
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		k.add(files(n), "", noon)
		if n == "1" {
			k.Sets[0].Good = true
		}
	}
	assert.Len(t, k.Sets, mostKept)
	assert.Equal(t, files("6"), k.last().Files)
	assert.Equal(t, files("1"), k.before(true).Files, "the only good one stays")
	for _, n := range []string{"5", "4", "3", "1"} {
		to := k.before(false)
		require.NotNil(t, to)
		assert.Equal(t, files(n), to.Files, "once more goes back once more")
		k.InUse = to.Generation
	}
	assert.Equal(t, files("1"), k.last().Files, "after a restart too")
	assert.Nil(t, k.before(false))
	k.add(files("1"), "", noon.Add(time.Hour))
	assert.True(t, k.Sets[0].Good, "it is as good as it was")
	assert.Len(t, k.Sets, mostKept)
	assert.Nil(t, k.before(true))

	// Before the set in use comes the set that a rollback restored, not the one that the rollback left.
	k = kept{}
	k.add(files("1"), "", noon)
	k.add(files("2"), "", noon.Add(time.Minute))
	k.again(files("1").Generation(), "", noon.Add(2*time.Minute))
	k.add(files("3"), "", noon.Add(3*time.Minute))
	require.NotNil(t, k.before(false))
	assert.Equal(t, files("1"), k.before(false).Files)
}

// A failure of a project's own file is no failure of the person's set.
func TestFailedIn(t *testing.T) {
	failed := func(script string, kind policy.Kind) policy.Verdict {
		return policy.Verdict{Failures: []policy.Failure{{Script: script, Kind: kind}}}
	}
	strangers := map[string]bool{"/src/.intercom/policy.lua": true, "init.lua": false}
	assert.True(t, failedIn(failed("init.lua", policy.Raised), strangers))
	assert.True(t, failedIn(failed("init.lua", policy.Quarantined), strangers))
	assert.False(t, failedIn(failed("/src/.intercom/policy.lua", policy.Raised), strangers))
	assert.False(t, failedIn(failed("init.lua", policy.NoWorker), strangers))
	assert.False(t, failedIn(failed("", policy.Died), strangers))
}
