package scripting

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ProjectFile is where a project's own file lies in it.
var ProjectFile = filepath.Join(".intercom", "policy.lua")

// ReadProjects reads the files that projects have of their own. Whoever wrote a project wrote its
// file: whatever is wrong with it concerns that project alone, and one that cannot be read is
// among them as one that nobody can ask. trusted says of a file, by its content
// (policy.Source.Hash), whether a person said that it may do what their own files may; nil is no.
// Until then it may only tighten.
func ReadProjects(projects []string, trusted func(hash string) bool) []policy.Source {
	var all []policy.Source
	taken := map[string]int{}
	for i, project := range projects {
		if slices.Contains(projects[:i], project) {
			continue
		}
		source, ok := readProject(project, trusted)
		if !ok {
			continue
		}
		if taken[source.Name]++; taken[source.Name] > 1 {
			source.Name = fmt.Sprintf("%s (%d)", source.Name, taken[source.Name])
		}
		all = append(all, source)
	}
	return all
}

// readProject reads a project's own file, if it has one.
func readProject(project string, trusted func(hash string) bool) (policy.Source, bool) {
	path := filepath.Join(project, ProjectFile)
	name := sourceName(path)
	source, err := readSource(path, name, foreign.ReadItself) // no link to something of the person's
	if errors.Is(err, fs.ErrNotExist) {
		return source, false
	}
	source.Name, source.Project = name, project
	source.GuardsOnly = trusted == nil || !trusted(source.Hash())
	if err == nil {
		err = source.Validate()
	}
	if err != nil {
		source = source.Unusable(err.Error())
	}
	return source, true
}
