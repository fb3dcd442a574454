package registry

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// shelf holds things in the order in which they were added, found by id and by name. It is immutable: change
// returns another shelf that shares the unchanged parts, so the cost of a change hardly depends on the number of
// things.
type shelf[T any] struct {
	rows  []*[row]*T // by place; nil where something was removed
	end   int        // the next place
	count int
	place table[message.ID, int]
	named table[string, []int] // places, ascending, by names in lower case
}

const row = 128

// called returns the id of a thing and all its names.
type called[T any] func(*T) (message.ID, []string)

// change removes things and adds others. A new thing replaces the one with the same id, or comes after all others.
func (s shelf[T]) change(by called[T], gone []message.ID, now []T) shelf[T] {
	if len(gone)+len(now) == 0 {
		return s
	}
	place, named := draft[message.ID, int]{table: s.place}, draft[string, []int]{table: s.named}
	own := make(map[int]bool)
	s.rows = slices.Clone(s.rows)
	set := func(at int, one *T) {
		switch i := at / row; {
		case i == len(s.rows):
			s.rows, own[i] = append(s.rows, new([row]*T)), true
		case !own[i]:
			copied := *s.rows[i]
			s.rows[i], own[i] = &copied, true
		}
		s.rows[at/row][at%row] = one
	}
	rename := func(at int, was, is []string) {
		if slices.Equal(was, is) {
			return
		}
		for _, name := range was {
			places, _ := named.get(name)
			if places = slices.DeleteFunc(slices.Clone(places), func(p int) bool { return p == at }); len(places) == 0 {
				delete(named.part(name), name)
			} else {
				named.part(name)[name] = places
			}
		}
		for _, name := range is {
			places, _ := named.get(name)
			if i, found := slices.BinarySearch(places, at); !found && name != "" {
				named.part(name)[name] = slices.Insert(slices.Clone(places), i, at)
			}
		}
	}
	for _, id := range gone {
		if at, ok := place.get(id); ok {
			_, names := by(s.rows[at/row][at%row])
			rename(at, names, nil)
			set(at, nil)
			delete(place.part(id), id)
			s.count--
		}
	}
	for _, one := range now {
		id, names := by(&one)
		at, ok := place.get(id)
		var was []string
		if ok {
			_, was = by(s.rows[at/row][at%row])
		} else {
			at = s.end
			place.part(id)[id] = at
			s.end++
			s.count++
		}
		rename(at, was, names)
		set(at, &one)
	}
	s.place, s.named = place.table, named.table
	if s.end <= 2*s.count+row {
		return s
	}
	all := make([]T, 0, s.count) // there are more gaps than things
	for one := range s.all() {
		all = append(all, *one)
	}
	return shelf[T]{}.change(by, nil, all)
}

// get returns the thing with that id, or nil.
func (s shelf[T]) get(id message.ID) *T {
	at, ok := s.place.get(id)
	if !ok {
		return nil
	}
	return s.rows[at/row][at%row]
}

// all yields the things in order.
func (s shelf[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, some := range s.rows {
			for _, one := range some {
				if one != nil && !yield(one) {
					return
				}
			}
		}
	}
}

// so yields the things named ref, in any case of letters, in order.
func (s shelf[T]) so(ref string) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		places, _ := s.named.get(strings.ToLower(ref))
		for _, at := range places {
			if !yield(s.rows[at/row][at%row]) {
				return
			}
		}
	}
}

// table is a map split into parts; a change copies only one part.
type table[K ~string, V any] struct{ parts *[parts]map[K]V }

const parts = 256

var seed = maphash.MakeSeed()

func (t table[K, V]) get(key K) (value V, ok bool) {
	if t.parts != nil {
		value, ok = t.parts[part(key)][key]
	}
	return value, ok
}

func part[K ~string](key K) uint64 { return maphash.String(seed, string(key)) % parts }

// draft is a table under change: parts of its own may be modified.
type draft[K ~string, V any] struct {
	table[K, V]
	own [parts]bool
}

// part returns the part of the table for a key, ready to be changed.
func (d *draft[K, V]) part(key K) map[K]V {
	if d.own == ([parts]bool{}) {
		var all [parts]map[K]V
		if d.parts != nil {
			all = *d.parts
		}
		d.parts = &all
	}
	i := part(key)
	if !d.own[i] {
		if d.parts[i] = maps.Clone(d.parts[i]); d.parts[i] == nil {
			d.parts[i] = make(map[K]V)
		}
		d.own[i] = true
	}
	return d.parts[i]
}
