package scripting

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// Sources returns the files of the set.
func (s *Set) Sources() []policy.Source { return slices.Clone(s.files.Sources) }
