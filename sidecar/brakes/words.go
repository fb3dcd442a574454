package brakes

import (
	"strings"
	"sync"
)

// The judge knows few words, all English. An unknown word counts as something said, so a gap makes
// the judge more patient, never less.

// courtesyWords are said for the sake of the other.
var courtesyWords = set(`
thank thanks thankful thx ty cheers welcome pleasure please glad happy delight delighted delightful honor honored honour honoured
grateful gratitude appreciate appreciated appreciates appreciation appreciative great good excellent wonderful fantastic awesome amazing perfect brilliant lovely
nice superb outstanding impressive terrific splendid beautiful beautifully magnificent agree agreed absolutely exactly indeed
definitely certainly likewise same sure ok okay understood acknowledged noted received confirmed roger copy got right yes yep yeah
no goodbye bye farewell luck best wishes wish hope enjoy congratulations congrats bravo kudos proud admire praise kind kindness
generous ready standing waiting here available anytime always help assist looking forward success care hello hi hey sorry
apologies apologize mutual sentiment feeling feelings heart joy privilege inspiring done complete finished well worry problem
course collaboration collaborate collaborating collaborative teamwork partner partnership together
`)

// personalWords count as courtesy in part: they are about the people who talk.
var personalWords = set(`
i you we me my your our us i'm i'll i've i'd you're you've you'll we've we're we'll mine yours ours myself yourself ourselves let's
`)

// functionWords hold sentences together.
var functionWords = set(`
a an the this that these those it its it's is are was were be been being am do does did have has had will would can could shall
should may might must not don't doesn't and or but nor so yet if then than as while when where what which who whom whose how why
because since though until of in on at by for with from to into onto over under about after before between through during
without within out off up down again there their they them he she his her all any both each every either neither some such own
much many more most less few other another one ones very really truly quite just only too also even still ever never now soon let
`)

// workWords say that something is done, was done, or is to be done.
var workWords = sync.OnceValue(func() map[string]bool {
	all := words(`
built wrote written ran running broke broken failing dropped dropping stopped splitting using chose put sent
`)
	for verb := range words(`
fix add test run build rename delete remove write check merge push commit deploy move update create implement install ship
revert rebase compile patch refactor split extract replace log print measure profile migrate index parse fail pass crash break
start stop open close skip block use drop change read set put send ask count sort load save
`) {
		for _, ending := range []string{"", "s", "ed", "d", "ing"} {
			all[verb+ending] = true
		}
	}
	return all
})

// set returns a set of words that is built on first use: most commands judge nothing.
func set(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return words(text) })
}

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}
