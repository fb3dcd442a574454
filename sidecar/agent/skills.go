package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

const (
	// skillDepth is how many levels below a directory of skills Codex searches.
	skillDepth = 6
	// mostSkillDirs, mostSkills and mostSkillHead limit the search: the number of directories, the number of names,
	// and the bytes read of each file.
	mostSkillDirs = 2000
	mostSkills    = 1000
	mostSkillHead = 16 << 10
	// longestSkill is longer than any skill name that Codex accepts.
	longestSkill = 256
)

// Skills returns the names that load a skill of the agent when a prompt contains `$name`, sorted and without
// duplicates. Only Codex has such names. Skills searches every place in which Codex does, and a few more: going up
// from its working directory, Codex stops at the project's root, but Skills does not. Names that Codex's settings
// disable are included. Places that cannot be read are left out, and unread holds the first few reasons. If there
// are very many skills, some are missing.
func (a Agent) Skills() (names []string, unread []error) {
	look := a.Kind.format().skills
	if look == nil {
		return nil, nil
	}
	s := skillSearch{seen: map[string]bool{}}
	look(a, &s)
	slices.Sort(s.names)
	return slices.Compact(s.names), s.unread
}

// codexSkills searches every place in which Codex looks for skills.
func codexSkills(a Agent, s *skillSearch) {
	if a.Home != "" {
		s.look(filepath.Join(a.Home, "skills"))
		s.look(filepath.Join(a.Home, "skills", ".system"))
		s.look(filepath.Join(a.Home, "plugins"))
		s.look(filepath.Join(filepath.Dir(a.Home), ".agents", "skills")) // usually the same as below
	}
	if home := environment(a.Process.PID, "HOME")["HOME"]; home != "" {
		s.look(filepath.Join(home, ".agents", "skills"))
	}
	s.look("/etc/codex/skills")
	for _, dir := range a.projects() {
		for {
			s.look(filepath.Join(dir, ".agents", "skills"))
			s.look(filepath.Join(dir, ".codex", "skills"))
			if dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
}

// projects returns the directories in which the agent works: its working directory and those of its command line.
func (a Agent) projects() (dirs []string) {
	if a.Dir != "" {
		dirs = append(dirs, a.Dir)
	}
	words := process.Arguments(a.Process.PID)
	for i, word := range words {
		dir, ok := strings.CutPrefix(word, "--cd=")
		if !ok && (word == "-C" || word == "--cd") && i+1 < len(words) {
			dir = words[i+1]
		}
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			if a.Dir == "" {
				continue
			}
			dir = filepath.Join(a.Dir, dir)
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	return dirs
}

// worksIn reports whether the agent works in a directory. It also reports true if the agent's directory is not
// known.
func (a Agent) worksIn(dir string) bool {
	return a.Dir == "" || slices.ContainsFunc(a.projects(), func(own string) bool {
		return own == dir || resolved(own) == resolved(dir)
	})
}

// skillSearch is the state of one search for skills.
type skillSearch struct {
	names  []string
	unread []error
	seen   map[string]bool // directories, resolved
}

// mostUnread is how many reasons are kept.
const mostUnread = 5

// fails records that something cannot be read, unless it does not exist.
func (s *skillSearch) fails(err error) {
	if len(s.unread) < mostUnread && !errors.Is(err, fs.ErrNotExist) {
		s.unread = append(s.unread, err)
	}
}

// look finds the skills in a directory and below, breadth first. It follows links and skips hidden directories.
func (s *skillSearch) look(root string) {
	type place struct {
		dir   string
		depth int
	}
	queue := []place{{root, 0}}
	for len(queue) > 0 && len(s.seen) < mostSkillDirs && len(s.names) < mostSkills {
		at := queue[0]
		queue = queue[1:]
		dir, err := filepath.EvalSymlinks(at.dir)
		if err != nil || s.seen[dir] {
			continue
		}
		entries, err := foreign.List(dir)
		if err != nil {
			s.fails(err)
			continue
		}
		s.seen[dir] = true
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.Name() == "SKILL.md":
				s.add(path)
			case strings.HasPrefix(e.Name(), ".") || at.depth == skillDepth:
			case e.IsDir() || e.Type()&os.ModeSymlink != 0:
				queue = append(queue, place{path, at.depth + 1})
			}
		}
	}
}

// add adds the names of the skill in that file: its own name and, if it belongs to a plugin, the name with the
// plugin's as prefix.
func (s *skillSearch) add(path string) {
	data, err := foreign.Head(path, mostSkillHead)
	if err != nil {
		s.fails(err)
		return
	}
	text := string(data)
	name := cmp.Or(frontName(text), strings.Join(strings.Fields(filepath.Base(filepath.Dir(path))), " "))
	if name == "" || len(name) > longestSkill {
		return
	}
	s.names = append(s.names, name)
	if plugin := pluginOf(filepath.Dir(path)); plugin != "" {
		s.names = append(s.names, plugin+":"+name)
	}
}

// frontName returns the name in the front matter of a SKILL.md, or "". The name is a YAML scalar: plain, quoted, or
// on the following lines.
func frontName(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if strings.TrimSpace(lines[0]) != "---" {
		return ""
	}
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "---" {
			return ""
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.Trim(strings.TrimRight(key, " \t"), `"'`) != "name" {
			continue
		}
		value = strings.TrimSpace(value)
		if value == "" || value[0] == '>' || value[0] == '|' {
			value = ""
			for _, more := range lines[i+2:] {
				if more != "" && more[0] != ' ' && more[0] != '\t' {
					break
				}
				value += " " + more
			}
			value = strings.TrimSpace(value)
		}
		return strings.Join(strings.Fields(scalar(value)), " ")
	}
	return ""
}

// scalar returns a YAML value without quotes or comment.
func scalar(value string) string {
	switch {
	case strings.HasPrefix(value, `"`):
		for end := len(value); end > 1; end-- {
			if s, err := strconv.Unquote(value[:end]); err == nil {
				return s
			}
		}
	case strings.HasPrefix(value, "'"):
		inner, _, _ := strings.Cut(strings.ReplaceAll(value[1:], "''", "\x00"), "'")
		return strings.ReplaceAll(inner, "\x00", "'")
	}
	value, _, _ = strings.Cut(value, " #")
	return value
}

// pluginOf returns the name of the plugin that a directory belongs to, or "".
func pluginOf(dir string) string {
	for range skillDepth {
		for _, kind := range []string{".codex-plugin", ".claude-plugin"} {
			text, err := foreign.Head(filepath.Join(dir, kind, "plugin.json"), mostSkillHead)
			var plugin struct{ Name string }
			if err == nil && json.Unmarshal(text, &plugin) == nil && plugin.Name != "" {
				return plugin.Name
			}
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
