package labtest

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// Gemini is Gemini CLI.
const Gemini Kind = "gemini"

func init() {
	register(Gemini, client{
		npm:   "@google/gemini-cli",
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
			// Old text may remain above after a resize of the pane.
			for y := len(s.Plain) - 1; y >= 0; y-- {
				if strings.Contains(s.Plain[y], "Type your message") {
					return strings.HasPrefix(s.Title, "◇") && !strings.Contains(strings.Join(s.Plain[max(0, y-8):], "\n"), "esc to cancel")
				}
			}
			return false
		},
		asks:  func(s Screen) bool { return strings.HasPrefix(s.Title, "✋") },
		joins: true,
	})
}
