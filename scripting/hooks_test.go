package scripting

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Each cell of the table of hooks: the combined result of several scripts, the default if none answers, and the outcome
// if one fails.
func TestL1_hooks(t *testing.T) {
	t.Parallel()
	const fine = `intercom.on("decide", function() return intercom.deliver() end)`
	fail := func(hook string) string { return `intercom.on("` + hook + `", function() error("x") end)` }
	cells := map[string]struct {
		texts   []string
		verb    message.Verb
		by      string // of the decision
		reason  string // stands in it
		body    string // "" as it was
		route   []string
		text    string // that was formatted
		failed  policy.Hook
		leaking bool // Unfiltered
	}{
		"filter: nothing":                   {texts: []string{fine, `intercom.on("filter", function() end)`}, verb: message.VerbDeliver},
		"filter: in order":                  {texts: []string{fine, `intercom.on("filter", function(m) return { body = m.body .. "1" } end)`, `intercom.on("filter", function(m) return { body = m.body .. "2" } end)`}, verb: message.VerbDeliver, body: "hello12"},
		"filter: seen by those behind":      {texts: []string{`intercom.on("filter", function(m) return { body = "x" } end)`, `intercom.on("decide", function(m) return intercom.deliver { reason = m.body } end)`}, verb: message.VerbDeliver, body: "x", reason: "x"},
		"filter: fails":                     {texts: []string{fail("filter"), fine}, verb: message.VerbHold, failed: policy.Filter, leaking: true},
		"filter: fails, a guard drops":      {texts: []string{fail("filter"), fine, `intercom.on("guard", function() return intercom.drop { reason = "spam" } end)`}, verb: message.VerbDrop, failed: policy.Filter, leaking: true},
		"filter: answers nonsense":          {texts: []string{`intercom.on("filter", function() return "x" end)`, fine}, verb: message.VerbHold, failed: policy.Filter, leaking: true},
		"filter: patches what is not there": {texts: []string{`intercom.on("filter", function() local p = {} p.bodi = "x" return p end)`, fine}, verb: message.VerbHold, failed: policy.Filter, leaking: true},
		"filter: the others still run":      {texts: []string{fail("filter"), `intercom.on("filter", function() return { body = "x" } end)`, fine}, verb: message.VerbHold, failed: policy.Filter, leaking: true, body: "x"},

		"route: nothing":          {texts: []string{fine, `intercom.on("route", function() end)`}, verb: message.VerbDeliver},
		"route: first answer":     {texts: []string{fine, `intercom.on("route", function() end)`, `intercom.on("route", function() return { "Cyd" } end)`, `intercom.on("route", function() return "Ada" end)`}, verb: message.VerbDeliver, route: []string{"Cyd"}},
		"route: fails":            {texts: []string{fine, fail("route"), `intercom.on("route", function() return "Cyd" end)`}, verb: message.VerbHold, failed: policy.Route},
		"route: to nobody":        {texts: []string{fine, `intercom.on("route", function() return {} end)`}, verb: message.VerbHold, failed: policy.Route},
		"route: answers nonsense": {texts: []string{fine, `intercom.on("route", function() return { 1, {} } end)`}, verb: message.VerbHold, failed: policy.Route},

		"decide: nobody":            {verb: message.VerbAsk, by: policy.BuiltIn, reason: "no policy"},
		"decide: nothing":           {texts: []string{`intercom.on("decide", function() end)`}, verb: message.VerbAsk, by: policy.BuiltIn},
		"decide: first answer":      {texts: []string{`intercom.on("decide", function() end)`, fine, `intercom.on("decide", function() return intercom.drop { reason = "late" } end)`}, verb: message.VerbDeliver, by: "policies/20.lua:1"},
		"decide: may relax":         {texts: []string{fine, `intercom.rule("all", {}, intercom.ask())`}, verb: message.VerbDeliver},
		"decide: a rule":            {texts: []string{`intercom.rule("other", { from = "Ben" }, intercom.ask())`, `intercom.rule("mine", { from = { "Cyd", "Ada" }, to = "Ben", origin = "agent", body = "^hel+o$" }, intercom.bounce { reason = "no" })`}, verb: message.VerbBounce, by: "policies/20.lua:1 mine", reason: "no"},
		"decide: fails":             {texts: []string{fail("decide"), fine}, verb: message.VerbAsk, failed: policy.Decide, by: policy.BuiltIn, reason: "policies/10.lua:1: decide failed: x"},
		"decide: fails, guards run": {texts: []string{fail("decide"), `intercom.on("guard", function() return intercom.bounce() end)`}, verb: message.VerbBounce, failed: policy.Decide},
		"decide: answers nonsense":  {texts: []string{`intercom.on("decide", function() return "deliver" end)`, fine}, verb: message.VerbAsk, failed: policy.Decide},

		"guard: nothing":           {texts: []string{fine, `intercom.on("guard", function() end)`}, verb: message.VerbDeliver},
		"guard: tightens":          {texts: []string{fine, `intercom.on("guard", function(m) return intercom.hold { reason = "depth " .. m.depth } end)`}, verb: message.VerbHold, reason: "depth 3", by: "policies/20.lua:1"},
		"guard: never relaxes":     {texts: []string{`intercom.on("decide", function() return intercom.ask() end)`, `intercom.on("guard", function() return intercom.deliver() end)`}, verb: message.VerbAsk, by: "policies/10.lua:1"},
		"guard: the strictest":     {texts: []string{fine, `intercom.on("guard", function() return intercom.bounce() end)`, `intercom.on("guard", function() return intercom.ask() end)`}, verb: message.VerbBounce},
		"guard: fails":             {texts: []string{fail("guard"), fine}, verb: message.VerbHold, failed: policy.Guard},
		"guard: fails, others run": {texts: []string{fail("guard"), fine, `intercom.on("guard", function() return intercom.drop { reason = "x" } end)`}, verb: message.VerbDrop, failed: policy.Guard},

		"format: nothing":          {texts: []string{fine, `intercom.on("format", function() end)`}, verb: message.VerbDeliver},
		"format: first answer":     {texts: []string{fine, `intercom.on("format", function() end)`, `intercom.on("format", function(m) return m.from_number .. ": " .. m.body end)`, `intercom.on("format", function() return "x" end)`}, verb: message.VerbDeliver, text: "1: hello"},
		"format: sees the patch":   {texts: []string{fine, `intercom.on("filter", function() return { body = "b" } end)`, `intercom.on("format", function(m) return m.body end)`}, verb: message.VerbDeliver, body: "b", text: "b"},
		"format: fails":            {texts: []string{fine, fail("format")}, verb: message.VerbDeliver, failed: policy.Format},
		"format: answers nonsense": {texts: []string{fine, `intercom.on("format", function() return 7 end)`}, verb: message.VerbDeliver, failed: policy.Format},
	}
	for name, cell := range cells {
		r := newRig(t, cell.texts...)
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		require.NoError(t, err, name)
		require.Len(t, v.Outcomes, 1, name)
		o := v.Outcomes[0]
		assert.Equal(t, cell.verb, o.Verb, name)
		if cell.by != "" {
			assert.Equal(t, cell.by, o.By, name)
		}
		assert.Contains(t, o.Reason, cell.reason, name)
		assert.Equal(t, cell.body, value(v.Body), name)
		assert.Equal(t, cell.route, v.Route, name)
		to := "Ben"
		if cell.route != nil {
			to = cell.route[0]
		}
		assert.Equal(t, to, o.To.Name, name)
		assert.Equal(t, cell.text, value(o.Formatted), name)
		assert.Equal(t, cell.leaking, v.Unfiltered, name)
		if cell.failed == "" {
			assert.Empty(t, v.Failures, name)
		} else if assert.Len(t, v.Failures, 1, name) {
			assert.Equal(t, cell.failed, v.Failures[0].Hook, name)
			assert.Equal(t, 1, v.Failures[0].Line, name)
		}
		assert.Equal(t, r.set.Generation, v.Generation)
		r.engine.Close()
	}
}

// What scripts see of a message, and the errors for unknown fields.
func TestL1_message(t *testing.T) {
	r := newRig(t, `
intercom.on("decide", function(msg, ctx)
  local ok, why = pcall(function() return msg[ctx.get("field")] end)
  local v = why
  if type(v) == "table" then v = table.concat(v, ",") end
  return intercom.deliver { reason = type(why) .. " " .. tostring(v) }
end)`)
	in := said("hello")
	in.Message.Subject, in.Message.InReplyTo, in.Message.RequiresResponse, in.Message.Priority = "plans", "m0", true, "medium"
	in.Message.Tags, in.Message.Meta, in.Message.Truncated = []string{"a", "b"}, map[string]string{"k": "v"}, true
	for field, want := range map[string]string{
		"id": "string " + string(in.Message.ID), "thread": "string " + string(in.Message.Thread), "from": "string Ada", "from_number": "number 1", "to": "string Ben", "recipients": "table Ben",
		"type": "string turn", "priority": "string normal", "subject": "string plans", "body": "string hello", "in_reply_to": "string m0",
		"requires_response": "boolean true", "tags": "table a,b", "origin": "string agent", "trust": "string session-verified", "depth": "number 3",
		"created": "number 1795348798", "age": "number 2", "truncated": "boolean true",
		"prority": `string policies/10.lua:3: message has no field "prority"; did you mean "priority"?`,
		"hop":     `string policies/10.lua:3: message has no field "hop"`,
	} {
		r.engine.Commit(policy.Verdict{Effects: []policy.Effect{{Script: "policies/10.lua", Key: "field", Value: field}}})
		assert.Equal(t, want, r.decided(in).Outcomes[0].Reason, field)
	}
}

// Changes by filters to everything besides the body: later hooks see them, and nothing else is changed.
func TestL1_filtersBesideTheBody(t *testing.T) {
	in := said("hello")
	in.Message.Subject, in.Message.Tags, in.Message.Meta = "plans", []string{"a"}, map[string]string{"k": "v", "l": "w"}
	r := newRig(t, `intercom.on("filter", function(m) return { subject = m.subject .. "!", tags = { "b", m.tags[1] }, meta = { k = m.meta.k .. "1" } } end)`,
		`intercom.on("filter", function(m) return { meta = { k = m.meta.k .. "2" } } end)
intercom.on("decide", function(m) return intercom.deliver { reason = m.subject .. m.tags[1] .. m.meta.k .. m.meta.l } end)`)
	v := r.decided(in)
	assert.Nil(t, v.Body)
	assert.Equal(t, "plans!", value(v.Subject))
	assert.Equal(t, &[]string{"b", "a"}, v.Tags)
	assert.Equal(t, map[string]string{"k": "v12"}, v.Meta)
	assert.Equal(t, "plans!bv12w", v.Outcomes[0].Reason)

	for patch, why := range map[string]string{
		`meta = { kk = "x" }`:                                     `the message has no meta "kk"; did you mean "k"?`,
		`meta = { k = 7 }`:                                        "meta.k must be a string, not a number",
		`meta = { k = ("x"):rep(300000) }`:                        "meta.k of 300000 bytes",
		`meta = { k = ("x"):rep(200000), l = ("x"):rep(200000) }`: "meta of more than 262144 bytes",
		`meta = "x"`:                                              "meta must be a table, not a string",
		`subject = ("x"):rep(5000)`:                               "subject of 5000 bytes, the most is 4096",
	} {
		r := newRig(t, `intercom.on("filter", function(m) return { `+patch+` } end)`)
		v := r.evaluated(in)
		assert.True(t, v.Unfiltered)
		assert.Empty(t, v.Meta)
		require.Len(t, v.Failures, 1)
		assert.Contains(t, v.Failures[0].Text, why)
	}
}

func TestL1_notices(t *testing.T) {
	r := newRig(t, `intercom.on("decide", function(m) return intercom.deliver { notify = m.body } end)`)
	assert.Equal(t, policy.NoticePopup, r.decided(said("popup")).Outcomes[0].Notify)
	for word, why := range map[string]string{"bell": `notify must be "popup" or "status", not "bell"`, "pop-up": `did you mean "popup"?`} {
		v := r.evaluated(said(word))
		require.Len(t, v.Failures, 1)
		assert.Contains(t, v.Failures[0].Text, why)
	}
}

// A guard that tightens keeps what the recipient and the person are told; a guard of an untrusted project adds nothing
// to it.
func TestL1_guardsKeepWhatIsSaid(t *testing.T) {
	decide := `intercom.on("decide", function() return intercom.deliver { prompt = "Plan only.", tags = { "a" }, notify = "popup" } end)`
	guard := policy.Source{Name: "policies/20.lua", Text: `intercom.on("guard", function() return intercom.ask { reason = "r", prompt = "Be brief.", tags = { "a", "b" } } end)`}
	for foreign, want := range map[bool][]any{false: {"Plan only.\nBe brief.", []string{"a", "b"}}, true: {"Plan only.", []string{"a"}}} {
		guard.GuardsOnly = foreign
		r := newRigOf(t, Options{}, policy.Files{Sources: []policy.Source{file(1, decide), guard}})
		o := r.decided(said("hello")).Outcomes[0]
		assert.Equal(t, []any{message.VerbAsk, "r", "popup"}, []any{o.Verb, o.Reason, o.Notify})
		assert.Equal(t, want, []any{o.Prompt, o.Tags})
	}
}

// Nothing from a project's file is typed to an agent before a person trusts the file.
func TestL12_projectsHaveNoWords(t *testing.T) {
	for text, words := range map[string]string{
		`intercom.ask { expires = 1, otherwise = "deliver", prompt = "evil", text = "evil", tags = { "evil" } }`: "",
		`intercom.ack { text = "evil" }`:                     "",
		`intercom.bounce { text = "evil", reason = "evil" }`: "a project's policy sent it back",
		`intercom.bounce { reason = "evil" }`:                "a project's policy sent it back",
		`intercom.hold { reason = "evil" }`:                  "",
		`error("evil")`:                                      "",
		`{ evil = 1 }`:                                       "",
	} {
		r := newRigOf(t, Options{}, policy.Files{Sources: []policy.Source{
			file(1, `intercom.on("decide", function() return intercom.deliver() end)`),
			{Name: "policies/20.lua", Text: `intercom.on("guard", function() return ` + text + ` end)`, GuardsOnly: true},
		}})
		o := r.evaluated(said("hello")).Outcomes[0]
		assert.NotEqual(t, message.VerbDeliver, o.Verb, text)
		assert.Equal(t, []any{"", words, []string(nil)}, []any{o.Prompt, o.Text, o.Tags}, text)
		if o.Verb == message.VerbHold { // its reason is in the sender's receipt
			assert.NotContains(t, o.Reason, "evil", text)
		}
	}
}

// Each recipient gets a decision of its own.
func TestL1_recipients(t *testing.T) {
	r := newRig(t, `
intercom.on("filter", function(msg) assert(#msg.recipients == 3); assert(not pcall(function() return msg.to end)) end)
intercom.on("decide", function(msg) if msg.to == "Cyd" then return intercom.ask() end return intercom.deliver() end)
intercom.on("guard", function(msg) if msg.to == "Dee" then error("x") end end)
intercom.on("format", function(msg) return "to " .. msg.to end)`)
	in := said("hello")
	in.To = append(in.To, message.Address{Name: "Cyd"}, message.Address{Name: "Dee"})
	v := r.evaluated(in)
	require.Len(t, v.Outcomes, 3)
	for i, want := range []message.Verb{message.VerbDeliver, message.VerbAsk, message.VerbHold} {
		assert.Equal(t, want, v.Outcomes[i].Verb)
		assert.Equal(t, in.To[i], v.Outcomes[i].To)
		assert.Equal(t, "to "+in.To[i].Name, value(v.Outcomes[i].Formatted))
	}
}

// The effects of a script happen when its verdict is committed, and not before.
func TestL1_effectsAreCommittedWithTheDecision(t *testing.T) {
	r := newRig(t, `
local n = 0
intercom.on("decide", function(msg, ctx)
  n = n + 1
  local seen = (ctx.get("seen") or 0) + 1
  ctx.set("seen", seen)
  ctx.chat:floor("Ben")
  return intercom.deliver { reason = n .. " " .. seen .. " " .. ctx.count("all", 60) }
end)
intercom.on("guard", function(msg, ctx)
  ctx.set("seen", 100)
  if msg.body == "fail" then error("x") end
  ctx.set("seen", nil)
end)`, `intercom.on("guard", function(msg, ctx) ctx.count("all", 10); assert(ctx.get("seen") == nil) end)`)
	for range 2 { // nothing was committed: the same again
		assert.Equal(t, "1 1 1", r.decided(said("hello")).Outcomes[0].Reason)
	}
	in := said("fail")
	v := r.evaluated(in)
	assert.Equal(t, []string{"Ben"}, v.Floor)
	assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
	r.engine.Commit(v)
	v = r.decided(said("hello"))
	assert.Equal(t, "1 2 2", v.Outcomes[0].Reason, "what the guard did before it failed is taken back")
	r.engine.Commit(v)
	assert.Equal(t, "1 1 3", r.decided(said("hello")).Outcomes[0].Reason, "it was forgotten")

	// A new worker knows it too, and a new engine that is given it.
	r.set.worker.kill()
	assert.Equal(t, "1 1 3", r.evaluated(said("hello")).Outcomes[0].Reason)
	again := newRigOf(t, Options{Memories: r.engine.Memories()}, r.set.files)
	assert.Equal(t, "1 1 3", again.decided(said("hello")).Outcomes[0].Reason)
	in = said("hello")
	in.Now = noon.Add(60e9)
	assert.Equal(t, "1 1 1", again.decided(in).Outcomes[0].Reason, "the window has moved on")
}

// A guard that waits and then delivers relaxes nothing.
func TestL1_guardsRelaxNothingLater(t *testing.T) {
	r := newRig(t, `intercom.on("decide", function() return intercom.ask() end)
intercom.on("guard", function() return intercom.hold { expires = 1, otherwise = "deliver" } end)`)
	o := r.decided(said("hello")).Outcomes[0]
	assert.Equal(t, message.VerbHold, o.Verb)
	assert.Equal(t, message.VerbAsk, o.Otherwise)
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
