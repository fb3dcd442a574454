package aea

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// KeepsAgents reports whether the new text of AEA's list of agents has all that the earlier one had, and the agent id.
// If the earlier text is no YAML, as AEA's own script may write it, KeepsAgents is true: there is nothing to compare.
func KeepsAgents(before, after []byte, id string) bool {
	var was, is struct {
		Agents map[any]any
		More   map[string]any `yaml:",inline"`
	}
	if err := yaml.Unmarshal(before, &was); err != nil {
		_, isYAML := errors.AsType[*yaml.TypeError](err)
		return !isYAML
	}
	if yaml.Unmarshal(after, &is) != nil {
		return false
	}
	ours := func(key, _ any) bool { return fmt.Sprint(key) == id }
	maps.DeleteFunc(was.Agents, ours)
	n := len(is.Agents)
	maps.DeleteFunc(is.Agents, ours)
	same := func(a, b any) bool { return reflect.DeepEqual(a, b) }
	return n > len(is.Agents) && maps.EqualFunc(was.Agents, is.Agents, same) && maps.EqualFunc(was.More, is.More, same)
}
