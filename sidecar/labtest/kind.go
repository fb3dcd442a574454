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

// Kinds are the agents that the lab can start, sorted by name.
var Kinds []Kind

// client is what the lab knows about a kind of agent.
type client struct {
	// npm is its npm package; {platform} is node's name for this machine: linux-x64, linux-arm64, darwin-arm64,
	// darwin-x64.
	npm string
	// needs are programs that it requires.
	needs []string
	// program returns its command line, given the directory of its install.
	program func(install string) ([]string, error)
	// daemonless is the argument that keeps it from using a background process, if it has one.
	daemonless string
	// at returns the arguments that select its model. They are needed if others share its home, which then names
	// another model; nil if the environment selects the model.
	at func(url string) []string
	// configure writes the agent's home and returns its environment: no account, no question at the start, no call
	// home, and its model at a.URL. In a shared home it keeps what other agents have written.
	configure func(a *Agent) ([]string, error)
	// ready reports whether an empty composer waits for the user and the agent is not working.
	ready func(s Screen) bool
	// asks reports whether a dialog waits for the user.
	asks func(s Screen) bool
	// joins says that on a busy machine it takes an Enter for a part of a paste for longer than others, so that an
	// Enter may be lost.
	joins bool
}

var clients = map[Kind]client{}

// register adds an agent to the lab. The file of each agent calls it.
func register(k Kind, c client) {
	clients[k] = c
	Kinds = append(Kinds, k)
	slices.Sort(Kinds)
}

func (a *Agent) kind() client { return clients[a.Kind] }

// check returns an error that says what is missing to run a version of an agent.
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

// first calls write for a file of the agent, unless the home is shared and the file exists.
func (a *Agent) first(file string, write func(file string) error) error {
	if _, err := os.Stat(file); err == nil && a.shared {
		return nil
	}
	return write(file)
}

// WriteFile writes a file for the agent, and creates the directories above it.
func (a *Agent) WriteFile(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// WriteJSON writes a value as a JSON file for the agent.
func (a *Agent) WriteJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return a.WriteFile(file, string(data)+"\n")
}

// EditJSON changes an object in a JSON file of the agent, or creates the file. It is meant for Configured.
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
