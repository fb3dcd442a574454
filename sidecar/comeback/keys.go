package comeback

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// MenuKey returns how a person opens the menu of the plugin, or "" if no key does.
func MenuKey(ctx context.Context, o tmux.Options) string {
	options, err := tmux.Ask(ctx, o, MenuKeyOption, KeysOption)
	if err != nil {
		return ""
	}
	for _, key := range strings.Fields(cmp.Or(options[MenuKeyOption], "B")) {
		if !slices.Contains(strings.Fields(options[KeysOption]), key) {
			continue
		}
		// Somebody may have bound the key to something else since.
		if bound, err := tmux.PrefixKeys(ctx, o); err == nil {
			if ours, is := bound[key]; is && !ours {
				continue
			}
		}
		return "prefix + " + key
	}
	return ""
}

// entries lists the commands that entries of the menu run, with their keys.
var entries = sync.OnceValue(func() (all []entry) {
	for _, one := range [][2]string{
		{"intercom doctor --fix", "d, f"},
		{"intercom doctor", "d"},
		{"intercom chat resume (--all|[0-9a-f]{8})", "r"},
		{"intercom chat pause --all", "p"},
		{"intercom inbox (list|approve [0-9a-f]{8})", "i"},
		{"intercom policy edit", "e"},
		{"`?intercom adopt %[0-9]+ --as line`?", "c, then l (--as line)"},
	} {
		all = append(all, entry{regexp.MustCompile(one[0]), one[1]})
	}
	return all
})

type entry struct {
	command *regexp.Regexp
	key     string
}

// ByKeys replaces commands in a text by the keys of the menu that run them. menu is how a person opens the menu; ""
// leaves the text as it is.
func ByKeys(menu, text string) string {
	if menu == "" || !strings.Contains(text, "intercom ") {
		return text
	}
	for _, one := range entries() {
		text = one.command.ReplaceAllLiteralString(text, menu+", "+one.key)
	}
	return text
}
