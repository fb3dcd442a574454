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

// ProjectFile is the path of a project's policy, relative to the project.
var ProjectFile = filepath.Join(".intercom", "policy.lua")

// ReadProjects reads the policy files of projects. Such a file was written by the author of the project, so any fault
// in it concerns that project alone; a file that cannot be read is returned as unusable. trusted reports whether a
// person has said that a file with this content (policy.Source.Hash) may do everything that their own files may do; nil
// trusts none. A file that is not trusted may only tighten.
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

// readProject reads a project's policy, if it has one.
func readProject(project string, trusted func(hash string) bool) (policy.Source, bool) {
	path := filepath.Join(project, ProjectFile)
	name := sourceName(path)
	source, err := readSource(path, name, foreign.ReadItself) // follows no link to a file of the person
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
