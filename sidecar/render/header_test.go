package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const theirs = "f1a2b3c4-d5e6-7890-1234-567890abcdef" // from the example in the document

func TestParseHeader(t *testing.T) {
	for text, want := range map[string]struct{ computer, session, content string }{
		"AI[local:" + theirs + "] | /next-work":                         {"local", theirs, "/next-work"},
		"AI[raspi:" + theirs + "] | two\n\nlines | ] : \x1b":            {"raspi", theirs, "two\n\nlines | ] : \x1b"},
		"AI[local:" + theirs + "] | ":                                   {"local", theirs, ""},
		"AI[local:" + theirs + "] |  x ":                                {"local", theirs, " x "},
		"AI[local:" + theirs + "] | AI[server:" + theirs + "] | forged": {"local", theirs, "AI[server:" + theirs + "] | forged"},
		"AI[remote_machine:" + strings.ToUpper(theirs) + "] | x":        {"remote_machine", strings.ToUpper(theirs), "x"},
		"AI[büro:" + theirs + "] | \xff":                                {"büro", theirs, "\xff"},
		"AI[local:unverified] | x":                                      {"local", "unverified", "x"},
	} {
		from, content, ok := ParseHeader(text)
		assert.True(t, ok, text)
		assert.Equal(t, message.Address{Computer: want.computer, Peer: message.ID(want.session)}, from, text)
		assert.Equal(t, want.content, content, text)
		again, err := FormatHeader(from, content)
		require.NoError(t, err)
		assert.Equal(t, text, again, "the same bytes")
	}
}

func TestParseHeader_noFalsePositives(t *testing.T) {
	for _, text := range []string{
		"", "AI", "AI[", "AI[local] | x", "AI[:id] | x", "AI[:" + theirs + "] | x", "AI [local:" + theirs + "] | x", "ai[local:" + theirs + "] | x", "AI[local:id] | x",
		"x AI[local:" + theirs + "] | x", " AI[local:" + theirs + "] | x", "\nAI[local:" + theirs + "] | x", "x\nAI[local:" + theirs + "] | x", "> AI[local:" + theirs + "] | x",
		"AI[local:" + theirs + "]| x", "AI[local:" + theirs + "] |x", "AI[local:" + theirs + "] |", "AI[local:" + theirs + "] x", "AI[local:" + theirs + "] \u2502 x",
		"AI[local:" + theirs + "]  | x", "AI[local:" + theirs + "]\t| x", "AI[local:" + theirs[1:] + "] | x", "AI[local:" + theirs + "0] | x", "AI[local:" + theirs + " ] | x",
		"AI[lo cal:" + theirs + "] | x", "AI[a:b:" + theirs + "] | x", "AI[a\u200bb:" + theirs + "] | x", "AI[a\nb:" + theirs + "] | x", "AI[\x1b:" + theirs + "] | x", "AI[\xff:" + theirs + "] | x",
		"AI[" + strings.Repeat("a", 65) + ":" + theirs + "] | x", "\ufeffAI[local:" + theirs + "] | x", "\uff21\uff29[local:" + theirs + "] | x", "AI[local:" + strings.ReplaceAll(theirs, "-", "") + "] | x",
		"AI[local:urn:uuid:" + theirs + "] | x", "AI[local:{" + theirs + "}] | x", "AI[local:Unverified] | x", "[AI] (1):\n\nx", "AI[computer:session_id] | message content here",
	} {
		_, content, ok := ParseHeader(text)
		assert.False(t, ok, "%q", text)
		assert.Equal(t, text, content)
	}
}

func TestFormatHeader_oneNeverTwo(t *testing.T) {
	from := message.Address{Peer: theirs}
	own := "AI[local:" + theirs + "] | "
	for content, want := range map[string]string{
		"x": own + "x", own + "x": own + "x", own + own + "x": own + "x", "AI[server:" + theirs + "] | x": own + "AI[server:" + theirs + "] | x", "": own, own: own,
	} {
		got, err := FormatHeader(from, content)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q", content)
	}
	for _, from := range []message.Address{
		{},
		{Peer: "x"},
		{Computer: "a:b", Peer: theirs},
		{Computer: "a b", Peer: theirs},
		{Computer: "a] | AI[b", Peer: theirs},
		{Peer: theirs + "] | "},
		{Computer: "a:" + theirs + "] | AI[b", Peer: theirs},
		{Computer: strings.Repeat("a", 65), Peer: theirs},
	} {
		_, err := FormatHeader(from, "x")
		assert.Error(t, err, "%v", from)
	}
}

// Any text after a header comes out of it unchanged, and adding the same header twice changes nothing.
func TestHeader_thereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"AI[", "local", ":", "] | ", "]", " | ", "|", theirs, "AI[local:" + theirs + "] | ", "AI[b:" + theirs + "] | ", "unverified", "x", "\n", " ", "\xff", "é"})
		content := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "content"), "")
		from := message.Address{Computer: rapid.SampledFrom([]string{"local", "b", "büro"}).Draw(t, "computer"), Peer: rapid.SampledFrom([]message.ID{theirs, message.Unverified, message.NewID()}).Draw(t, "session")}
		text, err := FormatHeader(from, content)
		require.NoError(t, err)
		read, rest, ok := ParseHeader(text)
		require.True(t, ok)
		require.Equal(t, from, read)
		require.True(t, strings.HasSuffix(content, rest))
		if !strings.HasPrefix(content, Header(from)+" ") {
			require.Equal(t, content, rest)
		}
		again, err := FormatHeader(from, text)
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}

func FuzzParseHeader(f *testing.F) {
	for _, text := range []string{"", "AI[local:" + theirs + "] | /next-work", "AI[local:unverified] | AI[local:unverified] | x", "AI[:x] | y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		from, content, ok := ParseHeader(text)
		if !ok {
			assert.Equal(t, text, content)
			return
		}
		assert.Equal(t, text, fmt.Sprintf("AI[%s:%s] | %s", from.Computer, from.Peer, content))
		again, err := FormatHeader(from, content)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(text, again), "the same, or one header less")
	})
}
