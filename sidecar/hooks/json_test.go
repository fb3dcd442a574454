package hooks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// Claude Code accepts no comments. Whoever edits a file with comments loses none of them.
func TestJSON_commentsAndCommasComeBackByteForByte(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1, // about a  \n}\n":                              "{\n  \"a\": 1, // about a  \n  \"new\": [],\n}\n",
		"{\r\n\t\"a\": 1 // about a\r\n}":                               "{\r\n\t\"a\": 1, // about a\r\n\t\"new\": []\r\n}",
		"{\n  \"a\": 1,\n  // \"b\": 2,\n}":                             "{\n  \"a\": 1,\n  \"new\": [],\n  // \"b\": 2,\n}",
		"// c\n{\n  // nothing yet\n} // d\n":                           "// c\n{\n  \"new\": []\n  // nothing yet\n} // d\n",
		"{\"a\":1 /* of two\nlines */ }":                                "{\"a\":1,\"new\":[] /* of two\nlines */ }",
		"{ /* x */ \"a\" /* y */ : /* z */ 1 /* , */ , /* end */ }":     "{ /* x */ \"a\" /* y */ : /* z */ 1 /* , */ , \"new\": [], /* end */ }",
		"{\n    \"b\": {\n        \"c\": [1, 2,]  // } \n    } // e\n}": "{\n    \"b\": {\n        \"c\": [1, 2,]  // } \n    }, // e\n    \"new\": []\n}",
	} {
		root, err := hujson.Parse([]byte(text))
		require.NoError(t, err)
		styleOf([]byte(text), &root).add(&root, `{"new":[]}`)
		assert.Equal(t, want, string(root.Pack()))
		root, err = hujson.Parse(root.Pack())
		require.NoError(t, err)
		without(&root, func(kid *hujson.ObjectMember) bool { return says(&kid.Name) == "new" })
		assert.Equal(t, text, string(root.Pack()))
	}
}

// Text that others have written around a member since is not removed with it.
func TestJSON_commentsBeforeWhatIsTakenOutStay(t *testing.T) {
	for text, want := range map[string]string{
		"{ // c\n \"new\": 1, \"b\": 2}":              "{ // c\n \"b\": 2}",
		"{\n // c\n \"new\": 1}":                      "{\n // c\n}",
		"{\"a\": 1,\n // c\n \"new\": 1, \"new\": 2}": "{\"a\": 1\n // c\n}",
		"{\"a\": 1, /* c */ \"new\": 1, \"b\": 2,}":   "{\"a\": 1, /* c */  \"b\": 2,}",
		"{\"new\": 1, // n\n \"b\": 2}":               "{ // n\n \"b\": 2}",
	} {
		root, err := hujson.Parse([]byte(text))
		require.NoError(t, err)
		without(&root, func(kid *hujson.ObjectMember) bool { return says(&kid.Name) == "new" })
		assert.Equal(t, want, string(root.Pack()))
	}
}

func TestJSON_installAndUninstallAreNothingInComments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t, true)
		root, err := hujson.Parse([]byte(doc))
		require.NoError(t, err, doc)
		require.NoError(t, claude.checkSettings(&root), doc)
		claude.addCalls(&root, styleOf([]byte(doc), &root), program, wasSettings)
		installed := root.Pack()
		standard, err := hujson.Standardize(append([]byte{}, installed...))
		require.NoError(t, err, "%s", installed)
		before, err := hujson.Standardize([]byte(doc))
		require.NoError(t, err)
		requireAdded(t, string(before), standard)

		root, err = hujson.Parse(append([]byte{}, installed...))
		require.NoError(t, err)
		claude.addCalls(&root, styleOf(installed, &root), program, wasSettings)
		require.Equal(t, string(installed), string(root.Pack()))
		claude.removeCalls(&root, program)
		require.Equal(t, doc, string(root.Pack()))
	})
}
