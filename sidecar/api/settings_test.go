package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestSettings_eachIsParsedAndShown(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       message.Limits
		shown      string
	}{
		{"depth", "9", message.Limits{Depth: 9}, "9"},
		{"depth", "20", message.Limits{Depth: 20}, ""},
		{"expire", "60m", message.Limits{Expire: time.Hour}, ""},
		{"line_break", " ⏎ ", message.Limits{LineBreak: " ⏎ "}, ""},
		{"rate", "9", message.Limits{Rate: 9}, "9"},
		{"bytes", "9", message.Limits{Bytes: 9}, "9"},
		{"expire", "90m", message.Limits{Expire: 90 * time.Minute}, "1h30m"},
		{"expire", "1s", message.Limits{Expire: time.Second}, "1s"},
		{"away", "2h", message.Limits{Away: 2 * time.Hour}, "2h"},
		{"away", "30m", message.Limits{Away: 30 * time.Minute}, "30m"},
		{"away", "off", message.Limits{Off: message.Off{Away: true}}, ""},
		{"line_break", " / ", message.Limits{LineBreak: " / "}, " / "},
		{"header", "both", message.Limits{Header: "both"}, "both"},
		{"header", "attribution", message.Limits{Header: "attribution"}, ""},
		{"words", "all", message.Limits{Words: "all"}, "all"},
		{"words", "last", message.Limits{Words: "last"}, ""},
		{"person", "on", message.Limits{Person: true}, "on"},
		{"person", "off", message.Limits{Off: message.Off{Person: true}}, ""},
		{"approve", "yes", message.Limits{Approve: "yes"}, "yes"},
		{"approve", "no", message.Limits{Off: message.Off{Approve: true}}, ""},
		{"stall", "off", message.Limits{Stall: "off"}, "off"},
		{"stall", "agents", message.Limits{Stall: "agents"}, ""},
		{"approve", "claude,%7", message.Limits{Approve: "claude,%7"}, "claude,%7"},
	} {
		got, err := api.ParseSettings(map[string]string{c.key: c.value})
		require.NoError(t, err, c.key)
		assert.Equal(t, c.want, got)
		for _, s := range api.Settings {
			want := ""
			if s.Key == c.key {
				want = c.shown
			}
			assert.Equal(t, want, s.Of(got), "%s of %s=%s", s.Key, c.key, c.value)
		}
	}
	got, err := api.ParseSettings(map[string]string{"empty": "on"})
	require.NoError(t, err, "its former name")
	assert.Equal(t, message.Limits{Stall: "on"}, got)
	for key, values := range map[string][]string{
		"depth": {"0", "-1", "many", ""}, "rate": {"often"}, "expire": {"0", "30", "999ms", "-1h", "soon", "off"}, "away": {"0s", "30", "never"},
		"line_break": {"", "\n"}, "header": {"none"}, "words": {"", "none", "All"}, "person": {"", "yes", "true"}, "colour": {"red"},
		"approve": {"", "a,", "a\nb"},
	} {
		for _, value := range values {
			_, err := api.ParseSettings(map[string]string{key: value})
			assert.Equal(t, api.CodeUsage, code(err), "%s=%s", key, value)
			assert.ErrorContains(t, err, key)
		}
	}
}

func TestSettings_whatIsNotSetStays(t *testing.T) {
	old := message.Limits{Depth: 9, Away: time.Hour, Words: "all", Person: true}
	got, err := api.ApplySettings(old, map[string]string{"away": "off", "rate": "3", "person": "off"})
	require.NoError(t, err)
	assert.Equal(t, message.Limits{Depth: 9, Rate: 3, Words: "all", Off: message.Off{Away: true, Person: true}}, got)
	got, err = api.ApplySettings(got, map[string]string{"away": "1h", "person": "on"})
	require.NoError(t, err)
	assert.Equal(t, message.Limits{Depth: 9, Rate: 3, Words: "all", Away: time.Hour, Person: true}, got, "on again")
}
