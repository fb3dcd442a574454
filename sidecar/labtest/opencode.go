package labtest

import (
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Opencode is opencode.
const Opencode Kind = "opencode"

func init() {
	register(Opencode, client{
		npm: "opencode-{platform}",
		program: func(install string) ([]string, error) {
			file, err := one(install, "opencode-*", "bin", "opencode")
			return []string{file}, err
		},
		configure: func(a *Agent) ([]string, error) {
			environ := []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			}
			// Building its list of all known models takes half of its start.
			models := filepath.Join(a.Dir, "models.json")
			if err := a.WriteJSON(models, object{}); err != nil {
				return nil, err
			}
			environ = append(environ, "OPENCODE_MODELS_PATH="+models)
			file := filepath.Join(a.Home, ".config", "opencode", "opencode.json")
			if a.shared { // it reads the file seconds after its start, when another agent may have written its own model there
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
			return !s.CursorVisible && (s.Contains("enter confirm") || s.Contains("enter submit") || s.Contains("Permission required"))
		},
	})
}
