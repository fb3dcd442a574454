package labtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Kind is a kind of agent, by the name of its profile.
type Kind string

// Kinds are the agents that the lab can start, by their names.
var Kinds []Kind

// client is what the lab knows of a kind of agent.
type client struct {
	// npm is the package in which it comes; {platform} is what node calls this machine:
	// linux-x64, linux-arm64, darwin-arm64, darwin-x64.
	npm string
	// needs are programs that must be there to run it.
	needs []string
	// program is its command line, from the directory of its install.
	program func(install string) ([]string, error)
	// daemonless keeps it from using a background process, if it has one.
	daemonless string
	// at names its model on the command line, where its home does not because others live
	// there too; nil where the environment does.
	at func(url string) []string
	// configure writes the agent's home and returns what its environment needs: no account,
	// no question at the start, no call home, and its model at a.URL. What others have
	// written into a home that they share stays.
	configure func(a *Agent) ([]string, error)
	// ready reports whether an empty composer waits for the user, and nothing is under way.
	ready func(s Screen) bool
	// asks reports whether a dialog waits for the user.
	asks func(s Screen) bool
	// joins says that on a busy machine it takes Enter for a part of a paste for longer than
	// others, so that one may be lost.
	joins bool
}

var clients = map[Kind]client{}

// register makes an agent known to the lab. Each agent's file does so itself.
func register(k Kind, c client) {
	clients[k] = c
	Kinds = append(Kinds, k)
	slices.Sort(Kinds)
}

func (a *Agent) kind() client { return clients[a.Kind] }

// check says what is missing for a version of an agent.
func (k Kind) check(version string) error {
	if _, err := k.InstalledAt(version); err != nil {
		return err
	}
	for _, program := range clients[k].needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s needs %s, which is not here", k, program)
		}
	}
	return nil
}

// mockKey is the key of an account that does not exist.
const mockKey = "sk-ant-api03-no-such-key-for-the-lab-alone-0000000000"

// first writes a file of the agent's, unless it shares its home with one that has written it.
func (a *Agent) first(file string, write func(file string) error) error {
	if _, err := os.Stat(file); err == nil && a.shared {
		return nil
	}
	return write(file)
}

// WriteFile writes a file of the agent's, and the directories above it.
func (a *Agent) WriteFile(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// WriteJSON writes a value as a file of the agent's.
func (a *Agent) WriteJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.WriteFile(file, string(data)+"\n")
}

// EditJSON changes a JSON file of the agent's, an object, or begins one; for Configured.
func (a *Agent) EditJSON(file string, change func(settings map[string]any)) error {
	settings := map[string]any{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &settings)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("settings %q: %w", file, err)
	}
	change(settings)
	return a.WriteJSON(file, settings)
}
