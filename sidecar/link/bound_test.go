package link

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestN6_bound(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`{"a":[1,2,{"b":"c"}],"d":"[[[[[[[[[[[[[[[[[[[[[[[[\"[[[[[["}`: "",
		strings.Repeat("[", deepest) + strings.Repeat("]", deepest):    "",
		strings.Repeat(`{"a":`, deepest+1):                             "nests deeper",
		"[" + strings.Repeat("{},", mostValues) + "{}]":                "more than 200000 values",
		`{` + strings.Repeat(`"":0,`, mostValues) + `"":0}`:            "more than 200000 values",
		`["` + strings.Repeat("x", longest-1) + `"]`:                   "",
		`["` + strings.Repeat("x", longest+1) + `"]`:                   "a text of more than",
		`["` + strings.Repeat(`\"`, longest/2+1) + `"]`:                "a text of more than",
		`{"a":"` + strings.Repeat("ä,:[{", 1000) + `\\","b":"\`:        "", // not JSON, which its reader notices
		`["` + strings.Repeat(`,`, mostValues) + `"]`:                  "",
	} {
		err := bound([]byte(text))
		if why == "" {
			assert.NoError(t, err, "%.60s", text)
		} else {
			assert.ErrorContains(t, err, why, "%.60s", text)
		}
	}
}
