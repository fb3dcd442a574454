package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// longest is the longest time that a field may be set to.
const longest = time.Hour

// field is a field of a profile that a person may set.
type field struct {
	name string
	set  func(p *Profile, value any) error
}

// fields lists the fields that a person may set. Fields that keep a text from being typed too early, or a text that
// is too long from being typed at all, can only be made stricter.
var fields = []field{
	{"quiet", duration(func(p *Profile) *time.Duration { return &p.Quiet }, func(time.Duration) time.Duration { return 10 * time.Millisecond })},
	{"settle", duration(func(p *Profile) *time.Duration { return &p.Settle }, func(built time.Duration) time.Duration { return built })},
	{"seen_within", duration(func(p *Profile) *time.Duration { return &p.SeenWithin }, func(built time.Duration) time.Duration { return built })},
	{"taken_within", duration(func(p *Profile) *time.Duration { return &p.TakenWithin }, func(built time.Duration) time.Duration { return built })},
	{"inline_max", func(p *Profile, value any) error {
		n, ok := value.(float64)
		if !ok || n != float64(int(n)) || n < 1 || int(n) > p.InlineMax {
			return fmt.Errorf("must be a number from 1 to %d", p.InlineMax)
		}
		p.InlineMax = int(n)
		return nil
	}},
	{"line_break", func(p *Profile, value any) error {
		text, ok := value.(string)
		if !ok || text == "" || strings.ContainsAny(text, "\n\r") {
			return fmt.Errorf("must be a text of one line")
		}
		p.LineBreak = text
		return nil
	}},
	{"chrome", list(func(p *Profile) *[]string { return &p.Chrome })},
	{"continuations", list(func(p *Profile) *[]string { return &p.Continuations })},
	{"start", list(func(p *Profile) *[]string { return &p.Start })},
}

// With returns the profile with some of its fields set. values maps their names to strings, numbers (seconds, for a
// time) or lists of strings. The error says what cannot be set.
func (p Profile) With(values map[string]any) (Profile, error) {
	p = p.clone()
	for name, value := range values {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return p, fmt.Errorf("profile %s: no field %q can be set: %s can", p.Name, name, strings.Join(fieldNames(), ", "))
		}
		if err := fields[i].set(&p, value); err != nil {
			return p, fmt.Errorf("profile %s: field %q: %w", p.Name, name, err)
		}
	}
	return p, nil
}

func fieldNames() (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// duration returns a setter for a time; least returns the shortest allowed time for the built-in one.
func duration(of func(*Profile) *time.Duration, least func(built time.Duration) time.Duration) func(*Profile, any) error {
	return func(p *Profile, value any) error {
		var d time.Duration
		switch v := value.(type) {
		case float64:
			d = time.Duration(v * float64(time.Second))
		case string:
			var err error
			if d, err = time.ParseDuration(v); err != nil {
				return fmt.Errorf("%q is not a duration, such as \"500ms\"", v)
			}
		default:
			return fmt.Errorf("must be a time, like \"500ms\"")
		}
		if shortest := least(*of(p)); d < shortest || d > longest {
			return fmt.Errorf("must be at least %s and at most %s", shortest, longest)
		}
		*of(p) = d
		return nil
	}
}

func list(of func(*Profile) *[]string) func(*Profile, any) error {
	return func(p *Profile, value any) error {
		// A list decoded from JSON has untyped elements.
		if elements, ok := value.([]any); ok {
			texts := make([]string, len(elements))
			for i, e := range elements {
				if texts[i], ok = e.(string); !ok {
					return fmt.Errorf("must be a list of texts")
				}
			}
			value = texts
		}
		texts, ok := value.([]string)
		if !ok || slices.Contains(texts, "") {
			return fmt.Errorf("must be a list of texts")
		}
		*of(p) = slices.Clone(texts)
		return nil
	}
}

// Known finds the profile of that name, be it an agent or any other program.
func Known(name string) (Profile, bool) {
	if a, ok := AgentByName(name); ok {
		return a.clone(), true
	}
	return ByName(name)
}
