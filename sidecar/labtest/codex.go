package labtest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Codex is Codex.
const Codex Kind = "codex"

func init() {
	register(Codex, client{
		npm: "@openai/codex",
		program: func(install string) ([]string, error) {
			file, err := one(install, "@openai", "codex-*", "vendor", "*", "bin", "codex")
			return []string{file}, err
		},
		// The daemon would outlive the pane and serve the next agent with the home of this one.
		daemonless: "--no-daemon",
		at: func(url string) []string {
			return []string{"-c", fmt.Sprintf("model_providers.lab.base_url=%q", url+"/v1")}
		},
		configure: func(a *Agent) ([]string, error) {
			// With a policy and a sandbox it does not ask whether the directory is trusted. It may only write in its
			// directory; /tmp is excluded, since all of the lab is below it. The model is one that Codex knows and
			// offers the same tools to as with a real account; another model (-m) gets other tools.
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
	})
}

// codexWorks reports whether the title has the spinner that turns while Codex works. The screen itself may not show it.
func codexWorks(s Screen) bool {
	first, _, _ := strings.Cut(s.Title, " ")
	return strings.ContainsAny(first, "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
}
