package aea

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Name is what the name of a message's file says: message-{time}-from-{agent}[-{descriptor}].json. Ids of
// agents have hyphens, so a name does not show where the id ends; only the file itself says who it is from.
type Name struct {
	Time  time.Time // to the second, or to the millisecond if the name has it; zero for none
	Agent string    // with the descriptor that follows it, if any; "" for none
}

var (
	names     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^message-(\d{8}T\d{6})(\d{3})?Zz?-from-(.+)\.json$`) })
	longNames = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^message-(\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\dZ)-from-(.+)\.json$`)
	})
	descriptor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`) })
)

// IsName reports whether a file of that name is a message, by the rule of the document's own loop.
func IsName(name string) bool {
	return strings.HasPrefix(name, "message-") && strings.HasSuffix(name, ".json") && !strings.ContainsAny(name, "/\x00")
}

// ParseName reads as much of a name as it can.
func ParseName(name string) (n Name) {
	if found := names().FindStringSubmatch(name); found != nil {
		at, err := time.Parse("20060102T150405.000", found[1]+"."+strings.Repeat("0", 3-len(found[2]))+found[2])
		if err == nil {
			n.Time = at.UTC()
		}
		n.Agent = found[3]
	} else if found := longNames().FindStringSubmatch(name); found != nil {
		n.Agent = found[2]
	} else if _, agent, ok := strings.Cut(strings.TrimSuffix(name, ".json"), "-from-"); ok {
		n.Agent = agent
	}
	return n
}

// CheckDescriptor returns an error if a word cannot follow the agent's id in a name.
func CheckDescriptor(word string) error {
	if word != "" && !descriptor().MatchString(word) {
		return invalid("descriptor", "%.40q may have letters, digits, dot, underscore and hyphen only, 64 at most", word)
	}
	return nil
}

// FileName returns the name of an agent's nth message in one second with that descriptor. From the second one
// on, the number takes the place of the descriptor, or follows it.
func FileName(at time.Time, agent, descriptor string, n int) string {
	rest := CleanID(agent)
	if descriptor != "" {
		rest += "-" + descriptor
	}
	if n > 1 {
		rest = fmt.Sprintf("%s-%d", rest, n)
	}
	return fmt.Sprintf("message-%s-from-%s.json", at.UTC().Format("20060102T150405Z"), rest)
}
