package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// named lets /next-work go bare into programs of the profile that the rig's sessions have.
var named = LimitsChanged{Commands: Commands{Names: []string{"/next-work"}, Profiles: []string{"line"}}}

// Only a single message of a person, or of a session here, goes bare, only into a program that is
// known to take it, and only if it is nothing but a command that the person has named. The note
// goes first.
func TestStrip_C4(t *testing.T) {
	handed := func(change func(m *message.Envelope, d *message.Delivery, s *LimitsChanged)) []message.Delivery {
		r := newRig(t)
		s := r.adopt("a", "b")
		settings := named
		d := &delivery{Delivery: message.Delivery{
			ID: r.id(), Target: s[1].ID, Attempt: 1, Form: message.Form{Head: "AI[local:x] |", Separator: " ", Way: message.DoorAuto},
			Message: message.Envelope{
				ID: r.id(), Type: message.KindMessage, Body: "/next-work fast", Origin: message.OriginAgent, Trust: message.TrustVerified,
				From: message.Address{Peer: s[0].ID, Name: "a"}, Depth: 3,
			},
		}}
		if change != nil {
			change(&d.Message, &d.Delivery, &settings)
		}
		_, _ = r.step(settings)
		tx := &tx{State: r.s, now: r.now}
		tx.admit(d)
		tx.hand(d)
		var out []message.Delivery
		for _, e := range tx.after {
			if one, ok := e.(Deliver); ok {
				out = append(out, one.Delivery)
			}
		}
		return out
	}

	out := handed(nil)
	require.Len(t, out, 2)
	note, command := out[0], out[1]
	assert.Equal(t, message.KindNotice, note.Message.Type)
	assert.Equal(t, `a asks for the command "/next-work fast", which comes without a header.`, note.Message.Body)
	assert.Equal(t, []any{3, command.Message.ID, "AI[local:" + string(command.Message.From.Peer) + "] | [notice]"}, []any{note.Message.Depth, note.Message.InReplyTo, note.Head})
	assert.True(t, command.Bare)
	assert.Equal(t, note.Message.ID, command.Note)
	assert.Equal(t, message.DoorType, command.Way, "it is no command to a door")
	assert.Equal(t, "AI[local:x] |", command.Head, "kept, should it go below it after all")

	for name, change := range map[string]func(m *message.Envelope, d *message.Delivery, s *LimitsChanged){
		"nothing is named": func(_ *message.Envelope, _ *message.Delivery, s *LimitsChanged) { s.Commands.Names = nil },
		"another program": func(_ *message.Envelope, _ *message.Delivery, s *LimitsChanged) {
			s.Commands.Profiles = []string{"claude"}
		},
		"another command":   func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work-all" },
		"a longer name":     func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-workers fast" },
		"a shorter name":    func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next" },
		"capitals":          func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/NEXT-WORK" },
		"words before it":   func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "please /next-work" },
		"a blank before it": func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = " /next-work" },
		"two lines":         func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work\n/clear" },
		"what runs":         func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work !`id`" },
		"what reads":        func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work @secret" },
		"an escape":         func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work \x1b[200~" },
		"a carriage return": func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Body = "/next-work\rx" },
		"a subject":         func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Subject = "work" },
		"in a chat":         func(_ *message.Envelope, d *message.Delivery, _ *LimitsChanged) { d.Chat = "c" },
		"a policy's head":   func(_ *message.Envelope, d *message.Delivery, _ *LimitsChanged) { d.Formatted = true },
		"unverified":        func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Trust = message.TrustUnverified },
		"a port":            func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Trust = message.TrustLoopback },
		"a repository":      func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Trust = message.TrustRegister },
		"another computer": func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) {
			m.Origin, m.Trust = message.OriginRemote, message.TrustRemote
		},
		"another computer, proven": func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Origin = message.OriginRemote },
		"the sidecar's own":        func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) { m.Origin = message.OriginSystem },
	} {
		out := handed(change)
		if assert.Len(t, out, 1, name) {
			assert.False(t, out[0].Bare, name)
			assert.Empty(t, out[0].Note, name)
		}
	}
	assert.Len(t, handed(func(m *message.Envelope, _ *message.Delivery, _ *LimitsChanged) {
		m.Origin, m.Trust, m.From = message.OriginHuman, message.TrustPerson, message.Address{Name: "root"}
	}), 2, "a person's")
}

// If the command is held for a yes and a person edits it, the edited text is checked again; the
// note is made once; and the sink's report of how it was typed is what is written down.
func TestStrip_C4_asItIsHandedOn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	_, _ = r.step(named)
	send := func(body string) message.Receipt {
		return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: body}}).Receipts[0]
	}
	r.must(PauseChat{Chat: All})
	held := send("/next-work")
	assert.Equal(t, message.Held, held.State)
	assert.Empty(t, r.out, "nor is its note handed out")
	r.must(ResumeChat{Chat: All})
	require.Len(t, r.out, 2)
	note, command := r.out[0], r.out[1]
	assert.True(t, command.Bare)
	r.submit(note)
	r.must(PauseChat{Chat: All})
	r.must(ResumeChat{Chat: All})
	require.Len(t, r.out, 3, "the note is not told twice")
	assert.True(t, r.made[command.ID].Bare)
	require.NoError(t, r.report(command.ID, message.Typed, "")) // this receipt does not say that it is typed bare
	assert.False(t, r.made[command.ID].Bare, "it went below its header")
}

// For a command that a person takes out of the trash a new note is made, about the command as it is
// now: the old note was about other words, long ago.
func TestStrip_C4_outOfTheTrash(t *testing.T) {
	for _, edited := range []string{"", "/next-work slow"} {
		r := newRig(t)
		s := r.adopt("a", "b")
		_, _ = r.step(named)
		id := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "/next-work fast"}}).Message
		require.Len(t, r.out, 2)
		r.submit(r.out[0])
		r.must(DecideHeld{Message: id, Verb: message.VerbDrop})
		n, yes := len(r.out), DecideHeld{Message: id, Verb: message.VerbDeliver, Trash: r.all("/next-work fast")}
		want := "/next-work fast"
		if edited != "" {
			yes.Body, want = &edited, edited
		}
		r.must(yes)
		var notes []string
		for _, d := range r.out[n:] {
			if d.Message.Type == message.KindNotice && d.Target == s[1].ID {
				notes = append(notes, d.Message.Body)
			}
		}
		assert.Equal(t, []string{`a asks for the command "` + want + `", which comes without a header.`}, notes)
	}
}

// If the settings let a command through no more, or not into that program, a delivery that waits for
// its pane goes below its header.
func TestStrip_C4_namedNoMore(t *testing.T) {
	for name, less := range map[string]Commands{
		"nothing":         {},
		"another command": {Names: []string{"/clear"}, Profiles: named.Commands.Profiles},
		"another program": {Names: named.Commands.Names, Profiles: []string{"claude"}},
	} {
		t.Run(name, func(t *testing.T) { namedNoMore(t, less) })
	}
}

func namedNoMore(t *testing.T, less Commands) {
	r := newRig(t)
	s := r.adopt("a", "b")
	_, _ = r.step(named)
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "/next-work"}})
	require.Len(t, r.out, 2)
	r.submit(r.out[0])
	command := r.out[1]
	_, _ = r.step(LimitsChanged{Commands: less})
	last := r.out[len(r.out)-1]
	assert.Equal(t, command.ID, last.ID, "it is handed out again")
	assert.False(t, last.Bare)
	_, err := r.step(Reported{Receipt: message.Receipt{Delivery: command.ID, State: message.Typed, Bare: true}})
	require.ErrorIs(t, err, ErrPaused, "who has it as it was may not type it so")
	assert.False(t, r.made[command.ID].Bare)
	_, _ = r.step(named)
	assert.False(t, r.out[len(r.out)-1].Bare, "nor is it handed out once more where it goes below its header")
	r.submit(r.out[len(r.out)-1])
}
