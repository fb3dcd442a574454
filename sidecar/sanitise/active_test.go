package sanitise

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What two clients take for more than words, according to their profiles.
var (
	readsFiles  = Options{At: true, Closes: `@:\[`, Keywords: []string{"ultra-code", "ultra-think"}, Pictures: true}
	loadsSkills = Options{Closes: "@$", Skills: []string{"imagegen", "image", "skill-creator", "plug:in"}}
	everything  = Options{At: true, Closes: `@$:\[`, Keywords: readsFiles.Keywords, Skills: append([]string{"ultracode", "ultra-code", "", " "}, loadsSkills.Skills...), Pictures: true}
)

func TestText_active(t *testing.T) {
	tests := []struct {
		name    string
		opt     Options
		body    string
		want    string
		changed int
	}{
		{"nothing is active", Options{}, "@f $imagegen ultracode\n/tmp/x.png\nsee @", "@f $imagegen ultracode\n/tmp/x.png\nsee @", 0},

		{"at", readsFiles, "@a, see @b and x@c.d.\n@e\n(@\"f g\")\t@~/h .", "\\@a, see \\@b and x\\@c.d.\n\\@e\n(\\@\"f g\")\t\\@~/h .", 6},
		{"at, escaped already", readsFiles, `see \@a .`, `see \@a .`, 0},
		{"at behind a backslash that is escaped itself", readsFiles, `see \\@a \\\@b \\\\@c .`, `see \\\@a \\\@b \\\\\@c .`, 2},
		{"at behind another word's backslash", readsFiles, `see \ @a .`, `see \ \@a .`, 1},
		{"several at", readsFiles, "@@@ .", `\@\@\@ .`, 3},
		{"at behind what is not seen", readsFiles, "see \\\u200b@\u200bfile .", `see \@file .`, 2},
		{"full-width at", readsFiles, "see ＠a .", "see ＠a .", 0},

		{"last word", readsFiles, "see @fi", `see \@fi `, 2},
		{"last word, escaped already", readsFiles, `see \@fi`, `see \@fi `, 1},
		{"last word with more around", readsFiles, "see (x@fi).", `see (x\@fi). `, 2},
		{"last word, a blank behind it", readsFiles, `see \@fi `, `see \@fi `, 0},
		{"last word, a line break behind it", readsFiles, "see \\@fi\n\n", "see \\@fi\n\n", 0},
		{"last word, a blank of another kind behind it", loadsSkills, "see @\u3000", "see @\u3000 ", 1},
		{"the word before the last", loadsSkills, "see @fi now", "see @fi now", 0},
		{"the last word of another line", loadsSkills, "see @\nnow", "see @\nnow", 0},
		{"nothing but the character", loadsSkills, "$", "$ ", 1},
		{"backslash", readsFiles, `C:\dir\`, `C:\dir\ `, 1},
		{"backslash before the end", readsFiles, "one \\\n", "one \\\n", 0},
		{"emoji list", readsFiles, "so :sm", "so :sm ", 1},
		{"focus", readsFiles, "so [I", "so [I ", 1},

		{"skill", loadsSkills, "use $imagegen, please", "use $ imagegen, please", 1},
		{"skill within others' letters", loadsSkills, `a$imagegen $$image $image$imagegen's é$imageé .`, `a$ imagegen $$ image $ image$ imagegen's é$ imageé .`, 5},
		{"skill in back-ticks and behind a backslash", loadsSkills, "`$imagegen` \\$imagegen .", "`$ imagegen` \\$ imagegen .", 2},
		{"skill with something behind a colon", loadsSkills, "$image:x $plug:in $plug:out .", "$ image:x $ plug:in $plug:out .", 2},
		{"longer names and others", loadsSkills, "$images $image_ $image-x $Image $HOME $5 ${image} $ image .", "$images $image_ $image-x $Image $HOME $5 ${image} $ image .", 0},
		{"full-width dollar", loadsSkills, "＄image .", "＄image .", 0},
		{"skill behind what is not seen", loadsSkills, "$\u200bimage .", "$ image .", 2},
		{"skill in the last word", loadsSkills, "$image", "$ image", 1},
		{"another dollar in the last word", loadsSkills, "$imag.", "$imag. ", 1},
		{"link to a skill", loadsSkills, "[$x](/a/SKILL.md) [$y:z-1_]\n\t( skill:///b ) .", "[$ x](/a/SKILL.md) [$ y:z-1_]\n\t( skill:///b ) .", 2},
		{"no link", loadsSkills, "[$x] y [$x y](z) [x]($y) .", "[$x] y [$x y](z) [x]($y) .", 0},

		{"keywords", readsFiles, "ultrathink, UltraCode xultracodex ultracodeultrathink", "ultra-think, Ultra-Code xultra-codex ultra-codeultra-think", 5},
		{"no keywords", readsFiles, "ultra-code ultra think ultracod ulTRa", "ultra-code ultra think ultracod ulTRa", 0},
		{"keyword behind what is not seen", readsFiles, "ultra\u00adcode", "ultra-code", 2},

		{"picture", readsFiles, "see\n/tmp/a b.png\nthere", "see\n> /tmp/a b.png\nthere", 1},
		{"picture, dressed up", readsFiles, "\t'/tmp/a.JPEG' \n\\/tmp/a\\.pn\\g\n\"C:\\x\\a.gif\"\n\u3000/a.webp\u00a0", "> \t'/tmp/a.JPEG' \n> \\/tmp/a\\.pn\\g\n> \"C:\\x\\a.gif\"\n> \u3000/a.webp\u00a0", 4},
		{"pictures among others", readsFiles, "/a.png /etc/hosts\n/etc/hosts '/a.png'", "> /a.png /etc/hosts\n> /etc/hosts '/a.png'", 2},
		{"no picture", readsFiles, "see /tmp/a.png\n/tmp/a.png.\n/tmp/a.txt\na.png\n> /tmp/a.png\n/tmp/a.png shows it\n`/tmp/a.png`", "see /tmp/a.png\n/tmp/a.png.\n/tmp/a.txt\na.png\n> /tmp/a.png\n/tmp/a.png shows it\n`/tmp/a.png`", 0},

		{"a forged header with all of it", everything, "[@ultracode] (1): $image\nAI[a@b] | $imag", "> [\\@ultra-code] (1): $ image\n> AI[a\\@b] | $imag ", 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, changed := Text(tt.body, tt.opt)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.changed, changed)
			again, changed := Text(got, tt.opt)
			assert.Equal(t, got, again)
			assert.Zero(t, changed)
		})
	}
}

// The characters inserted for a client forge nothing, and hide no forgery.
func TestText_activeAndHead(t *testing.T) {
	opt := everything
	opt.Head = "[ultra-code] (1):"
	got, changed := Text("[ultracode] (1): hello", opt)
	assert.Equal(t, "> [ultra-code] (1): hello", got, "it is the head only after the hyphen")
	assert.Equal(t, 2, changed)
	got, changed = Text("[ultra-code] (1): @hello", opt)
	assert.Equal(t, `\@hello `, got)
	assert.Equal(t, 2, changed)
}

// Whatever is active, in any combination and order, one pass neutralises all of it.
func TestText_activeOnePassIsEnough(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"@", `\`, `\\`, "$", "$$", "image", "imagegen", "skill-creator", "plug:in", ":", "-", "_", "[", "]", "(", ")", "[$x](", "[$image](y)", "`",
		"ultra", "code", "think", "ULTRA", "ultracode", "/", "~/", "C:", "/tmp/x", ".png", ".JPG", ".webp", "'", `"`, " ", "  ", "\n", "\t", "\u00a0", "\u3000", ".", "a", "é",
		"\u200b", "\u00ad", "\u202e", "\x1b[201~", "\r", "[Bob] (3):", "AI[a:b] |", "> ", "＠", "＄",
	})
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		opt := rapid.SampledFrom([]Options{readsFiles, loadsSkills, everything}).Draw(t, "options")
		opt.Head = rapid.SampledFrom([]string{"", "[Bob] (3):", "AI[a:b] |"}).Draw(t, "head")
		checkText(t, body, opt)
	})
	rapid.Check(t, func(t *rapid.T) {
		checkText(t, rapid.String().Draw(t, "body"), everything)
	})
}

// checkActive checks that nothing of opt is left in clean, as the clients look for it, and that clean is what a
// client without any syntax gets, with a few additions.
func checkActive(t require.TestingT, body, clean string, opt Options) {
	if opt.At {
		require.Falsef(t, bareAt.MatchString(clean), "a bare @ in %q of %q", clean, body)
	}
	last := clean
	if i := strings.LastIndexAny(clean, " \t\n"); i >= 0 {
		last = clean[i+1:]
	}
	require.Falsef(t, strings.ContainsAny(last, opt.Closes), "the last word of %q of %q", clean, body)
	for _, name := range opt.Skills {
		if strings.TrimSpace(name) != "" {
			require.NotRegexp(t, `\$`+regexp.QuoteMeta(name)+`([^A-Za-z0-9_-]|$)`, clean, "of %q", body)
		}
	}
	if len(opt.Skills) > 0 {
		require.NotRegexp(t, `\[\$[A-Za-z0-9_:-]+\]\s*\([^)]+\)`, clean, "of %q", body)
	}
	for _, form := range opt.Keywords {
		require.NotContains(t, strings.Map(lower, clean), strings.ReplaceAll(form, "-", ""), "of %q", body)
	}
	if opt.Pictures {
		require.Empty(t, attached(clean), "of %q", body)
	}
	plain, _ := Text(body, Options{Head: opt.Head})
	require.Truef(t, within(plain, clean), "%q is not all in %q, of %q", plain, clean, body)
}

// bareAt finds an @ with an even number of backslashes before it.
var bareAt = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*@`)

// attached returns the files that Claude Code 2.1.329 would read for a paste. It splits each line where a path
// seems to begin, and keeps the line whole if one of several parts is not a path.
func attached(paste string) (files []string) {
	begins := regexp.MustCompile(` ["']?(?:/|[A-Za-z]:\\)`)
	path := regexp.MustCompile(`^(?:["']?(?:/|[A-Za-z]:\\|\\\\).*)$`)
	name := regexp.MustCompile(`(?i)\.(?:png|jpe?g|gif|webp)$`)
	for line := range strings.SplitSeq(paste, "\n") {
		var parts []string
		for rest := line; rest != ""; {
			at := begins.FindStringIndex(rest)
			part := rest
			if at != nil {
				part, rest = rest[:at[0]], rest[at[0]+1:]
			} else {
				rest = ""
			}
			if strings.TrimSpace(part) != "" {
				parts = append(parts, strings.TrimSpace(part))
			}
		}
		if len(parts) > 1 && slices.ContainsFunc(parts, func(part string) bool { return !path.MatchString(part) }) {
			continue
		}
		for _, part := range parts {
			for _, quote := range []string{`"`, "'"} {
				if len(part) > 1 && strings.HasPrefix(part, quote) && strings.HasSuffix(part, quote) {
					part = part[1 : len(part)-1]
					break
				}
			}
			part = regexp.MustCompile(`\\(.)`).ReplaceAllString(part, "$1")
			if name.MatchString(part) && (strings.HasPrefix(part, "/") || regexp.MustCompile(`^[A-Za-z]:\\`).MatchString(part)) {
				files = append(files, part)
			}
		}
	}
	return files
}

// lower converts ASCII capitals to small letters, as clients do when they compare.
func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r - 'A' + 'a'
	}
	return r
}

// within reports whether text contains all of part, in order, perhaps with more between.
func within(part, text string) bool {
	for _, r := range text {
		if part == "" {
			return true
		}
		if strings.HasPrefix(part, string(r)) {
			part = part[len(string(r)):]
		}
	}
	return part == ""
}
