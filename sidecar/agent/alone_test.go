package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Several agents of a kind in one directory: which conversation belongs to which, as far as start times tell. Times
// are in seconds.
func TestChoose(t *testing.T) {
	zero := time.Unix(100_000, 0)
	at := func(s int) time.Time { return zero.Add(time.Duration(s) * time.Second) }
	type talk struct{ began, wrote int }
	for _, tt := range []struct {
		name  string
		kind  Kind
		since int // since when it has been alone
		near  []int
		talks map[string]talk
		want  string
		how   How
		err   error
	}{
		{"nothing yet", Gemini, 0, nil, nil, "", "", ErrNoTranscript},
		{"its own", Gemini, 0, nil, map[string]talk{"a": {3, 3}}, "a", ByBeingAlone, nil},
		{"after /clear", Gemini, 0, nil, map[string]talk{"a": {3, 50}, "b": {51, 51}}, "b", ByBeingAlone, nil},
		{"an old one taken up", Gemini, 0, nil, map[string]talk{"old": {-900, 60}, "a": {3, 50}}, "old", ByBeingAlone, nil},
		{"a neighbour has gone", Gemini, 70, nil, map[string]talk{"a": {3, 50}, "theirs": {20, 60}}, "", "", ErrNoTranscript},
		{"and it has written since", Gemini, 70, nil, map[string]talk{"a": {3, 90}, "theirs": {20, 60}}, "a", ByBeingAlone, nil},

		{"a neighbour that started long before", Gemini, 0, []int{-500}, map[string]talk{"theirs": {-497, 99}, "a": {3, 3}}, "a", ByStartTime, nil},
		{"a neighbour that started long after", Gemini, 0, []int{500}, map[string]talk{"theirs": {503, 503}, "a": {3, 3}}, "a", ByStartTime, nil},
		{"a little after", Gemini, 0, []int{30}, map[string]talk{"theirs": {33, 33}, "a": {3, 3}}, "a", ByStartTime, nil},
		{"a little before", Gemini, 0, []int{-30}, map[string]talk{"theirs": {-27, 33}, "a": {3, 3}}, "a", ByStartTime, nil},
		{"a little before, and it is slow", Gemini, 0, []int{-30}, map[string]talk{"a or theirs": {3, 3}}, "", "", ErrAmbiguous},
		{"at once", Gemini, 0, []int{1}, map[string]talk{"x": {3, 3}, "y": {4, 4}}, "", "", ErrAmbiguous},
		{"one of them cleared it", Gemini, 0, []int{-500}, map[string]talk{"theirs": {-497, 1}, "a": {3, 3}, "x": {300, 300}}, "", "", ErrAmbiguous},
		{"it cleared it at once", Gemini, 0, []int{-500}, map[string]talk{"theirs": {-497, 1}, "a": {3, 3}, "b": {9, 9}}, "b", ByStartTime, nil},
		{"it took up an old one", Gemini, 0, []int{-500}, map[string]talk{"theirs": {-497, 1}, "old": {-900, 3}}, "", "", ErrAmbiguous},

		{"opencode alone", OpenCode, 0, nil, map[string]talk{"a": {30, 40}}, "a", ByBeingAlone, nil},
		{"opencode beside another", OpenCode, 0, []int{-500}, map[string]talk{"a": {3, 40}}, "", "", ErrAmbiguous},
		{"opencode beside another, silent", OpenCode, 0, []int{-500}, nil, "", "", ErrNoTranscript},
	} {
		near := neighbours{known: true}
		for _, s := range tt.near {
			near.starts = append(near.starts, at(s))
		}
		var all []conversation
		for path, c := range tt.talks {
			all = append(all, conversation{Transcript{Path: path}, at(c.began), at(c.wrote)})
		}
		got, err := Agent{Kind: tt.kind, Dir: "/w"}.choose(at(0), at(tt.since), near, all)
		assert.Equal(t, tt.want, got.Path, tt.name)
		assert.Equal(t, tt.how, got.How, tt.name)
		assert.ErrorIs(t, err, tt.err, tt.name)

		_, err = Agent{Kind: tt.kind, Dir: "/w"}.choose(at(0), at(tt.since), neighbours{}, all)
		assert.Error(t, err, "%s: where processes do not tell, only a text does", tt.name)
	}
}
