package policyset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// mostKept is how many sets are kept to go back to.
const mostKept = 5

// kept is the file of the sets that were in use. It has only the files that the person wrote: shipped files come with
// the program, and project files always apply as they are now, with the trust that they have now.
type kept struct {
	Sets    []keptSet `json:"sets"`              // newest first
	InUse   string    `json:"in_use,omitempty"`  // generation of the set in use
	Refused string    `json:"refused,omitempty"` // generation of the files that were left, until they change
}

type keptSet struct {
	policy.Kept
	Files policy.Files `json:"files"`
}

const keptFile = "policies.json"

// mostKeptBytes is the maximum size of the file.
const mostKeptBytes = 64 << 20

// readKept reads the kept sets from a directory. If they cannot be read, there are none.
func readKept(dir string, log *slog.Logger) (k kept) {
	text, err := own.Read(filepath.Join(dir, keptFile), mostKeptBytes)
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("earlier policies cannot be read", "err", err)
		return kept{}
	}
	return k
}

// save writes the kept sets. If it cannot, only the way back is lost.
func (p *Live) save() {
	p.mu.Lock()
	p.listed = p.kept.list()
	p.mu.Unlock()
	text, err := json.Marshal(p.kept)
	if err == nil {
		err = atomicfile.Write(filepath.Join(p.State, keptFile), text, 0o600)
	}
	if err != nil {
		p.Log.Warn("policies are not kept", "err", err)
	}
}

// last returns the set that was in use last, or nil.
func (k *kept) last() *keptSet {
	if i := k.find(k.InUse); i >= 0 {
		return &k.Sets[i]
	}
	return nil
}

// add keeps a set that comes into use, with its name at that time.
func (k *kept) add(files policy.Files, called string, at time.Time) {
	set := keptSet{Kept: policy.Kept{Generation: files.Generation(), Set: called, At: at}, Files: files}
	k.leave(set.Generation, at)
	if i := k.find(set.Generation); i >= 0 {
		set.Good = k.Sets[i].Good
		k.Sets = slices.Delete(k.Sets, i, i+1)
	}
	// A set that was gone back to counts as newer than the set that was left for it.
	slices.SortStableFunc(k.Sets, func(a, b keptSet) int { return b.At.Compare(a.At) })
	k.Sets, k.InUse = slices.Insert(k.Sets, 0, set), set.Generation
	for len(k.Sets) > mostKept {
		drop := len(k.Sets) - 1
		if k.Sets[drop].Good && !slices.ContainsFunc(k.Sets[:drop], func(s keptSet) bool { return s.Good }) {
			drop-- // the only set that is known to be good
		}
		k.Sets = slices.Delete(k.Sets, drop, drop+1)
	}
}

// leave notes that another set replaces the one in use.
func (k *kept) leave(to string, at time.Time) {
	if last := k.last(); last != nil && last.Generation != to {
		last.Until = at
	}
}

// again notes that an earlier set is in use once more, and its name now.
func (k *kept) again(to, called string, at time.Time) {
	k.leave(to, at)
	if k.InUse = to; k.last() != nil {
		one := k.last()
		one.Set, one.At, one.Until = called, at, time.Time{}
	}
}

func (k *kept) find(generation string) int {
	return slices.IndexFunc(k.Sets, func(s keptSet) bool { return s.Generation == generation })
}

// before returns the set that was in use before the current one, or the latest good one among the earlier sets; nil if
// there is none.
func (k *kept) before(good bool) *keptSet {
	for i := k.find(k.InUse) + 1; i < len(k.Sets); i++ {
		if s := &k.Sets[i]; s.Good || !good {
			return s
		}
	}
	return nil
}

func (k *kept) list() []policy.Kept {
	out := make([]policy.Kept, len(k.Sets))
	for i, s := range k.Sets {
		out[i] = s.Kept
	}
	return out
}
