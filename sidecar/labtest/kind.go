package labtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Kind is a kind of agent.
type Kind string

// The agents that the lab can start.
const (
	Claude   Kind = "claude"
	Codex    Kind = "codex"
	Opencode Kind = "opencode"
	Gemini   Kind = "gemini"
)

// Kinds are all of them.
var Kinds = []Kind{Claude, Codex, Opencode, Gemini}

// client is what the lab knows of a kind of agent.
type client struct {
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
}

var clients = map[Kind]client{Claude: claudeCode, Codex: codexCLI, Opencode: opencodeTUI, Gemini: geminiCLI}

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

// claudeCode is Claude Code.
var claudeCode = client{
	program: func(install string) ([]string, error) {
		file, err := one(install, "@anthropic-ai", "claude-code-*", "claude")
		// Its default mode decides by itself what it may run, so there were no dialogs.
		return []string{file, "--permission-mode", "default"}, err
	},
	configure: func(a *Agent) ([]string, error) {
		// Without these it begins with its tour, asks whether the key may be used and
		// whether the directory is trusted, and offers its automatic mode.
		err := a.first(filepath.Join(a.Home, ".claude.json"), func(file string) error {
			return a.WriteJSON(file, object{
				"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 9,
				"hasResetAutoModeOptInForDefaultOffer": true, "hasSeenAutoDefaultNotice": true, "hasSeenAutoDefaultNudge": true,
				"customApiKeyResponses": object{"approved": []string{mockKey[len(mockKey)-20:]}, "rejected": []string{}},
				"projects": object{a.Work: object{
					"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "projectOnboardingSeenCount": 9,
				}},
			})
		})
		if err != nil {
			return nil, err
		}
		err = a.first(filepath.Join(a.Home, ".claude", "settings.json"), func(file string) error {
			return a.WriteJSON(file, object{
				"permissions":                object{"defaultMode": "default"},
				"enableAllProjectMcpServers": true,
			})
		})
		return []string{
			"ANTHROPIC_BASE_URL=" + a.URL, "ANTHROPIC_API_KEY=" + mockKey,
			"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		}, err
	},
	ready: func(s Screen) bool {
		return strings.HasPrefix(s.cursorRow(), "❯") && s.CursorX == 2 && !s.Contains("esc to interrupt")
	},
	asks: func(s Screen) bool { // the cursor stands on the mark of the choice, not behind it
		before, _, mark := strings.Cut(s.cursorRow(), "❯")
		return mark && strings.TrimSpace(before) == "" && s.CursorX == len(before)
	},
}

// codexCLI is Codex.
var codexCLI = client{
	program: func(install string) ([]string, error) {
		file, err := one(install, "@openai", "codex-*", "vendor", "*", "bin", "codex")
		return []string{file}, err
	},
	// It would outlive the pane and serve the next agent with this one's home.
	daemonless: "--no-daemon",
	at: func(url string) []string {
		return []string{"-c", fmt.Sprintf("model_providers.lab.base_url=%q", url+"/v1")}
	},
	configure: func(a *Agent) ([]string, error) {
		// With a policy and a sandbox it does not ask whether the directory is trusted. What
		// it may write is its directory alone, since all of the lab is below /tmp. The
		// model is one that it knows, and gives its tools to as it does with a real account;
		// with another (-m) they are others.
		return []string{"LAB_KEY=" + mockKey}, a.first(filepath.Join(a.Home, ".codex", "config.toml"), func(file string) error {
			return a.WriteFile(file, fmt.Sprintf(`
model = "gpt-6.1-sol"
model_provider = "lab"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = %q
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 1
stream_max_retries = 1

[tui]
notifications = true
notification_method = "osc9"
show_tooltips = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
`, a.URL+"/v1"))
		})
	},
	ready: func(s Screen) bool {
		return strings.HasPrefix(s.cursorRow(), "›") && s.CursorX == 2 && s.CursorVisible && !codexWorks(s)
	},
	asks: func(s Screen) bool { return !s.CursorVisible && s.Contains("› 1.") },
}

// codexWorks reports whether the title has the wheel that turns while Codex works; on the
// screen nothing need tell.
func codexWorks(s Screen) bool {
	first, _, _ := strings.Cut(s.Title, " ")
	return strings.ContainsAny(first, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
}

// opencodeTUI is opencode.
var opencodeTUI = client{
	program: func(install string) ([]string, error) {
		file, err := one(install, "opencode-*", "bin", "opencode")
		return []string{file}, err
	},
	configure: func(a *Agent) ([]string, error) {
		environ := []string{
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		}
		// To build its list of all the world's models takes it half of its start.
		models := filepath.Join(a.Dir, "models.json")
		if err := a.WriteJSON(models, object{}); err != nil {
			return nil, err
		}
		environ = append(environ, "OPENCODE_MODELS_PATH="+models)
		file := filepath.Join(a.Home, ".config", "opencode", "opencode.json")
		if a.shared { // it reads it seconds after its start, and would find the model of the next one there
			file = filepath.Join(a.Dir, "opencode.json")
			environ = append(environ, "OPENCODE_CONFIG="+file)
		}
		return environ, a.WriteJSON(file, object{
			"autoupdate": false, "share": "disabled", "model": "lab/" + modelName, "small_model": "lab/" + modelName,
			"permission": object{"bash": "ask", "edit": "ask", "webfetch": "deny"},
			"provider": object{"lab": object{
				"npm": "@ai-sdk/openai-compatible", "name": "Lab",
				"options": object{"baseURL": a.URL + "/v1", "apiKey": mockKey},
				"models":  object{modelName: object{"name": "Mock", "limit": object{"context": 200000, "output": 8000}}},
			}},
		})
	},
	ready: func(s Screen) bool {
		before, _, bar := strings.Cut(s.cursorRow(), "┃")
		return s.CursorVisible && bar && s.CursorX == utf8.RuneCountInString(before)+3 && !s.Contains("esc interrupt")
	},
	asks: func(s Screen) bool {
		return !s.CursorVisible && (s.Contains("enter confirm") || s.Contains("enter submit"))
	},
}

// geminiCLI is Gemini CLI.
var geminiCLI = client{
	needs: []string{"node"},
	program: func(install string) ([]string, error) {
		file, err := one(install, "@google", "gemini-cli", "bundle", "gemini.js")
		if err != nil {
			return nil, err
		}
		node, err := exec.LookPath("node")
		return []string{node, file}, err
	},
	configure: func(a *Agent) ([]string, error) {
		return []string{"GEMINI_API_KEY=" + mockKey, "GOOGLE_GEMINI_BASE_URL=" + a.URL, "NO_BROWSER=1"},
			a.WriteJSON(filepath.Join(a.Home, ".gemini", "settings.json"), object{
				"general":   object{"enableAutoUpdate": false},
				"privacy":   object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false},
				"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"ui":        object{"hideTips": true},
				"model":     object{"name": "gemini-2.5-flash"},
			})
	},
	ready: func(s Screen) bool {
		// What it no longer shows may stand above, where its pane was resized.
		for y := len(s.Plain) - 1; y >= 0; y-- {
			if strings.Contains(s.Plain[y], "Type your message") {
				return strings.HasPrefix(s.Title, "◇") && !strings.Contains(strings.Join(s.Plain[max(0, y-8):], "\n"), "esc to cancel")
			}
		}
		return false
	},
	asks: func(s Screen) bool { return strings.HasPrefix(s.Title, "✋") },
}

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
