package repository

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Registry is AEA's own list of agents, ~/.config/aea/agents.yaml. It says whom a name stands for, and nothing
// about trust.
type Registry struct{ Path string }

// Registered is one entry of the registry.
type Registered struct {
	ID          string `json:"agent_id"`
	Path        string `json:"repo_path"`
	Enabled     bool   `json:"enabled"`
	Description string `json:"description,omitempty"`
	Host        string `json:"host,omitempty"` // of an agent on another computer: nothing here reaches it
}

// maxRegistry is the most bytes that the file may have.
const maxRegistry = 1 << 20

// RegistryPath returns the path of the registry.
func RegistryPath(getenv func(string) string) string {
	if path := getenv("AEA_REGISTRY_FILE"); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(getenv("HOME"), ".config", "aea", "agents.yaml")
}

// List returns the entries, ordered by agent. AEA's own script writes entries below "agents: {}", which is not
// YAML, and reads them back line by line. So does List.
func (r Registry) List() ([]Registered, error) {
	text, err := foreign.Read(r.Path, maxRegistry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return registered(text), nil
}

func registered(text []byte) (all []Registered) {
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		value = scalar(value)
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(key, "#") || !ok:
		case indent == 0:
			inside = key == "agents"
		case !inside:
		case indent <= 2:
			all = append(all, Registered{ID: scalar(key), Enabled: true})
		case len(all) == 0:
		default:
			one := &all[len(all)-1]
			switch key {
			case "path":
				one.Path = value
			case "enabled":
				one.Enabled = value == "true"
			case "description":
				one.Description = value
			case "host":
				one.Host = value
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Registered) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// scalar returns a value without its quotes.
func scalar(value string) string {
	value = strings.TrimSpace(value)
	if text, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		return text
	}
	if len(value) > 1 && strings.HasPrefix(value, "'") && strings.HasSuffix(value, "'") {
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	return value
}

// Find returns the entry of an agent of this computer, if it is enabled.
func (r Registry) Find(id string) (Registered, bool) {
	all, err := r.List()
	if err != nil {
		return Registered{}, false
	}
	i := slices.IndexFunc(all, func(one Registered) bool {
		return one.ID == id && one.Enabled && one.Host == "" && filepath.IsAbs(one.Path)
	})
	if i < 0 {
		return Registered{}, false
	}
	return all[i], true
}

// alone calls change for the file to which the registry's path leads, since a person may keep it elsewhere
// behind a link. Others of ours that want to change it wait.
func (r Registry) alone(change func(Registry) error) error {
	for range 40 {
		target, err := os.Readlink(r.Path)
		if err != nil {
			break // no link, or nothing
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(r.Path), target)
		}
		r.Path = target
	}
	if err := atomicfile.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	dir, err := foreign.OpenDir(filepath.Dir(r.Path))
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	defer dir.Close()
	for end := time.Now().Add(registryPatience); ; time.Sleep(registryPause) {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			break // without a lock, as on some network drives, the file is changed all the same
		}
	}
	return change(r)
}

const (
	registryPatience = 5 * time.Second // with other processes that change it
	registryPause    = time.Millisecond
)

// Add writes an agent's entry, and leaves an enabled one of that repository as it is. A name that belongs to another
// agent stays with it: the error is a *TakenError. One of a repository that is gone, or not enabled, is replaced by
// this one; it is returned as was. Everything else stays as it is. For a file in which that cannot be done, such as
// one in flow style, the error is a *FormError.
func (r Registry) Add(one Registered) (was Registered, err error) {
	err = r.alone(func(r Registry) error {
		was, err = r.add(one)
		return err
	})
	return was, err
}

func (r Registry) add(one Registered) (was Registered, err error) {
	text, err := foreign.Read(r.Path, maxRegistry)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("# AEA Agent Registry\nversion: \"1.0\"\nagents:\n"), nil
	}
	if err != nil {
		return was, fmt.Errorf("registry: %w", err)
	}
	all := slices.DeleteFunc(registered(text), func(had Registered) bool { return had.ID != one.ID })
	here := func(had Registered) bool { return had.Host == "" && had.Path == one.Path }
	if slices.ContainsFunc(all, func(had Registered) bool { return here(had) && had.Enabled }) {
		return was, nil
	}
	for _, had := range all {
		if here(had) {
			continue
		}
		if _, gone := os.Stat(had.Path); had.Host != "" || had.Enabled && gone == nil { // a clone may claim any id
			return was, &TakenError{had}
		}
		was = had
	}
	return was, r.write(one, text)
}

// write writes an entry in place of those with its id.
func (r Registry) write(one Registered, text []byte) error {
	entry := []string{
		"  " + one.ID + ":", "    path: " + plainScalar(one.Path), "    enabled: true", "    description: " + strconv.Quote(one.Description),
	}
	var out []string
	// Lines that are indented below "agents:" and belong to no entry must not become part of the new one.
	skips, begun, added := false, false, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.TrimSpace(line) != "" && indent <= 2 {
			skips = line == "  "+one.ID+":"
		}
		if skips {
			continue
		}
		if key, _, is := strings.Cut(strings.TrimSpace(line), ":"); begun && !added && indent <= 2 && is && !strings.HasPrefix(key, "#") { // another begins
			out, added = append(out, entry...), true
		}
		if value, is := strings.CutPrefix(line, "agents:"); is && !begun {
			value, note, noted := strings.Cut(value, "#")
			if !slices.Contains([]string{"", "{}", "null", "~"}, strings.TrimSpace(value)) {
				return &FormError{r.Path, one.ID}
			}
			line, begun = "agents:", true
			if noted {
				line += " #" + note
			}
		}
		out = append(out, line)
	}
	if !begun {
		out = append(out, "agents:")
	}
	if !added {
		out = append(out, entry...)
	}
	now := []byte(strings.Join(out, "\n") + "\n")
	if !aea.KeepsAgents(text, now, one.ID) {
		return &FormError{r.Path, one.ID}
	}
	return atomicfile.Rewrite(r.Path, now, 0o644)
}

// TakenError says that an agent of another repository, or of another computer, has the name. The file is as it was.
type TakenError struct{ By Registered }

func (e *TakenError) Error() string {
	where := e.By.Path
	if e.By.Host != "" {
		where = e.By.Host + ":" + where
	}
	return fmt.Sprintf("agent %q already belongs to %q: send here with --to-path, or give this agent another id in agent-config.yaml", e.By.ID, where)
}

// FormError says that the list of agents is not in the form in which AEA writes it, so that an agent cannot be added
// without the risk of losing others. The file is as it was.
type FormError struct{ Path, ID string }

func (e *FormError) Error() string {
	return fmt.Sprintf("%q does not list agents below \"agents:\", indented by 2, as AEA does: add %q by hand", e.Path, e.ID)
}

// Disable marks the agent of that repository as not enabled. If the name belongs to another repository's agent,
// nothing changes. Everything else stays as it is.
func (r Registry) Disable(id, path string) error {
	if one, ok := r.Find(id); !ok || one.Path != path {
		return nil
	}
	return r.alone(func(r Registry) error { return r.disable(id, path) })
}

func (r Registry) disable(id, path string) error {
	text, err := foreign.Read(r.Path, maxRegistry)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	var out, entry []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && len(line)-len(strings.TrimLeft(line, " ")) <= 2 { // another begins
			out, entry = append(out, disabled(entry, id, path)...), nil
		}
		entry = append(entry, line)
	}
	out = append(out, disabled(entry, id, path)...)
	return atomicfile.Rewrite(r.Path, []byte(strings.Join(out, "\n")+"\n"), 0o644)
}

// disabled returns an entry as it stands in the list, but not enabled if it is of an agent of that repository.
// An entry without "enabled" counts as enabled.
func disabled(entry []string, id, path string) []string {
	at, ours := 0, false
	for i, line := range entry {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case i == 0 && scalar(key) != id, key == "host" && scalar(value) != "":
			return entry
		case key == "path":
			ours = scalar(value) == path
		case key == "enabled":
			at = i
		}
	}
	switch {
	case !ours:
	case at == 0:
		entry = slices.Insert(entry, 1, "    enabled: false")
	default:
		line := entry[at]
		entry[at] = line[:len(line)-len(strings.TrimLeft(line, " "))] + "enabled: false"
	}
	return entry
}

// plainScalar returns a path in the form that AEA's own script reads, quoted where the script cannot read it.
func plainScalar(text string) string {
	if strings.ContainsAny(text, " \t\"'#:{}[],&*!|>%@`\\") || strconv.Quote(text) != `"`+text+`"` {
		return strconv.Quote(text)
	}
	return text
}
