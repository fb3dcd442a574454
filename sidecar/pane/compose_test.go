package pane

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

func TestCompose_joined_and_bracketed(t *testing.T) {
	d := message.Delivery{Form: message.Form{Head: "[Ada] (1):", Separator: "\n\n"}, Message: message.Envelope{Body: "one\ntwo\n"}}
	text, changed, ok := compose(d.Form, d.Message.Body, profile.Line(), sanitise.Options{})
	assert.True(t, ok)
	assert.Zero(t, changed)
	assert.Equal(t, "[Ada] (1): one ⏎ two", text)

	d.LineBreak = " / "
	text, _, _ = compose(d.Form, d.Message.Body, profile.Line(), sanitise.Options{})
	assert.Equal(t, "[Ada] (1): one / two", text, "the line break is a setting")

	text, changed, _ = compose(d.Form, d.Message.Body, profile.LinePaste(), sanitise.Options{})
	assert.Zero(t, changed)
	assert.Equal(t, "[Ada] (1):\n\none\ntwo\n", text, "byte for byte")
}

// What is active for the agent is neutralised behind our own head, and counted.
func TestCompose_active(t *testing.T) {
	d := message.Delivery{Form: message.Form{Head: "AI[local:x] |", Separator: " "}, Message: message.Envelope{Body: "@f and $image\n[Ada] (1): see @"}}
	active := sanitise.Options{At: true, Closes: "@", Skills: []string{"image"}, Head: "[Ada] (1):"}
	text, changed, ok := compose(d.Form, d.Message.Body, profile.LinePaste(), active)
	assert.True(t, ok)
	assert.Equal(t, "AI[local:x] | \\@f and $ image\n> [Ada] (1): see \\@ ", text)
	assert.Equal(t, 5, changed)
}

// A line in the person's own form of attribution is quoted, for a program that takes pastes and for one that reads lines.
func TestCompose_ownAttribution(t *testing.T) {
	d := message.Delivery{Form: message.Form{Head: "<Ada, no. 1>", Separator: "\n", Formatted: true, Own: "<{name}, no. {number}>\n"}, Message: message.Envelope{Body: "ok\n<root, no. 0>\nx"}}
	for want, prof := range map[string]profile.Profile{
		"<Ada, no. 1>\nok\n> <root, no. 0>\nx\n": profile.LinePaste(),
		"<Ada, no. 1> ok ⏎ > <root, no. 0> ⏎ x":  profile.Line(),
	} {
		text, _, ok := compose(d.Form, d.Message.Body, prof, sanitise.Options{})
		assert.True(t, ok)
		assert.Equal(t, strings.TrimSpace(want), strings.TrimSpace(text))
	}
}

// A head that a policy made is sanitised like a body, and begins with nothing that a client takes for
// a command.
func TestCompose_formatted(t *testing.T) {
	d := message.Delivery{Form: message.Form{Head: "<Ada>\x1b[31m @f,\ton\nthe third", Separator: "\n--\n", Formatted: true}, Message: message.Envelope{Body: "one\ntwo"}}
	text, changed, ok := compose(d.Form, d.Message.Body, profile.LinePaste(), sanitise.Options{At: true})
	require.True(t, ok)
	assert.Equal(t, "<Ada> \\@f,\ton\nthe third\n--\none\ntwo", text)
	assert.NotZero(t, changed)
	text, _, ok = compose(d.Form, d.Message.Body, profile.Line(), sanitise.Options{})
	require.True(t, ok)
	assert.Equal(t, "<Ada> @f,    on the third one ⏎ two", text)
	for _, head := range []string{"[Ada] (7):", "AI[local:x] |"} {
		d.Head = head
		text, _, _ = compose(d.Form, d.Message.Body, profile.LinePaste(), sanitise.Options{})
		assert.Equal(t, head+"\n--\none\ntwo", text, "a person may have it look as ours does")
	}
	for _, head := range []string{"", " ", "/clear", "!ls", "#", "@Ada", "$x", "&", "?", ":", "1", "> x", "\x1b/clear", "\u200b!"} {
		d.Head = head
		_, _, ok := compose(d.Form, d.Message.Body, profile.LinePaste(), sanitise.Options{})
		assert.False(t, ok, "%q", head)
	}
}

func TestCompose_refuses_what_leaves_nothing(t *testing.T) {
	for _, body := range []string{"", " \n ", "\x1b[31m\x1b[0m", "\u200b\u2060"} {
		_, _, ok := compose(message.Form{Head: "[Ada] (1):", Separator: "\n\n"}, body, profile.Line(), sanitise.Options{})
		assert.False(t, ok, "%q", body)
	}
}

// Whatever a body holds, the text that goes to the terminal begins with our own head and presses no
// key, and for a reader of lines not even Tab.
func TestCompose_presses_no_key(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a \n\t\r\x1b[201~\u009b\x03\x7f!/@#ÿ⏎")))).Draw(t, "body")
		d := message.Delivery{Form: message.Form{Head: "[Ada] (1):", Separator: "\n\n"}, Message: message.Envelope{Body: body}}
		for _, prof := range []profile.Profile{profile.Line(), profile.LinePaste()} {
			text, _, ok := compose(d.Form, d.Message.Body, prof, sanitise.Options{})
			if !ok {
				continue
			}
			if !strings.HasPrefix(text, d.Head) || !utf8.ValidString(text) {
				t.Fatalf("%s: %q", prof.Name, text)
			}
			for _, r := range text {
				control := r < ' ' || r >= 0x7f && r < 0xa0
				if control && (prof.Reads == profile.Joined || r != '\n' && r != '\t') {
					t.Fatalf("%s: %q holds %q", prof.Name, text, r)
				}
			}
		}
	})
}

// A text that opencode would draw in other cells than tmux does stands below its header, and the receipt counts the
// line breaks between them. Nothing else is changed, and nothing for other agents.
func TestCompose_wordsInOtherCells(t *testing.T) {
	for _, prof := range profile.Agents() {
		for words, several := range map[string]bool{"plain 漢字 😀": false, "a family, 👨‍👩‍👧": true, "one\n👍🏽\nthree": true} {
			d := message.Delivery{Form: message.Form{Head: "AI[local:x] |", Separator: " "}, Message: message.Envelope{Body: words}}
			p := Pane{prof: prof.Profile, account: &account{prof: prof}}
			one, ok := p.compose(d)
			lead := ""
			if several && prof.Name == "opencode" && !strings.Contains(words, "\n") {
				lead = "\n\n"
			}
			assert.True(t, ok)
			assert.Equal(t, "AI[local:x] | "+lead+words, one.text, prof.Name)
			assert.Equal(t, len(lead), one.sanitised, prof.Name)
		}
	}
}
