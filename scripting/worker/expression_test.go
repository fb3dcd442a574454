package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The name of a numbered group is its digits alone, and a group that the pattern lacks is an error: nothing is deleted
// silently.
func TestReplace(t *testing.T) {
	for with, want := range map[string]string{
		"$1xxxxxx": "sk-xxxxxx rest", "${1}0": "sk-0 rest", "$0!": "sk-abc! rest", "$key.": "abc. rest", "${key}s": "abcs rest",
		"$$1": "$1 rest", "100 $": "100 $ rest", "$-$$": "$-$ rest", "${1": "${1 rest", "": " rest", "$2$1": "abcsk- rest",
	} {
		of, loaded := testSet(t, `local re = intercom.re("(sk-)(?P<key>[a-z]+)")
intercom.on("filter", function(msg) return { body = (re:replace(msg.body, "`+with+`")) } end)`)
		require.Empty(t, loaded.Problems)
		in := testInput()
		in.Message.Body = "sk-abc rest"
		v := newEvaluation(of, in, nil).run()
		require.Empty(t, v.Failures, with)
		assert.Equal(t, want, *v.Body, with)
	}
	for with, name := range map[string]string{"$3": "3", "$10": "10", "${2x}": "2x", "$keys": "keys", "$99999999999999999999": "99999999999999999999"} {
		of, loaded := testSet(t, `local re = intercom.re("(sk-)(?P<key>[a-z]+)")
intercom.on("filter", function(msg) return { body = (re:replace(msg.body, "`+with+`")) } end)`)
		require.Empty(t, loaded.Problems)
		v := newEvaluation(of, testInput(), nil).run()
		require.Len(t, v.Failures, 1, with)
		assert.Contains(t, v.Failures[0].Text, `the pattern has no group "`+name+`"`)
	}
}
