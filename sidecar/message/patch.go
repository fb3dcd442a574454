package message

import (
	"maps"
	"slices"
)

// The limits of a message's other fields.
const (
	MaxSubject = 4 << 10 // bytes
	MaxTags    = 32
	MaxTag     = 64 // bytes
)

// Patched returns a message as the verdict lets it out. It does not change e.
func (v Verdict) Patched(e Envelope) Envelope {
	if v.Body != nil {
		e.Body = *v.Body
	}
	if v.Subject != nil {
		e.Subject = *v.Subject
	}
	if v.Tags != nil {
		e.Tags = slices.Clone(*v.Tags)
	}
	for key := range e.Meta {
		if value, ok := v.Meta[key]; ok && value != e.Meta[key] {
			e.Meta = maps.Clone(e.Meta)
			maps.Copy(e.Meta, v.Meta)
			break
		}
	}
	return e
}

// Tagged returns tags and more of them, each once.
func Tagged(tags, more []string) []string {
	all := slices.Clip(tags)
	for _, tag := range more {
		if !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}
