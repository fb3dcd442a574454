package labtest

import (
	"path/filepath"
	"strings"
)

// Claude is Claude Code.
const Claude Kind = "claude"

func init() {
	register(Claude, client{
		npm: "@anthropic-ai/claude-code-{platform}",
		program: func(install string) ([]string, error) {
			file, err := one(install, "@anthropic-ai", "claude-code-*", "claude")
			// Its default mode decides by itself what it may run, so there would be no dialogs.
			return []string{file, "--permission-mode", "default"}, err
		},
		configure: func(a *Agent) ([]string, error) {
			// Without these settings it begins with its tour, asks whether the key may be used and whether the
			// directory is trusted, and offers its automatic mode.
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
		asks: func(s Screen) bool { // the cursor is on the mark of the choice, not behind it
			before, _, mark := strings.Cut(s.cursorRow(), "❯")
			return mark && strings.TrimSpace(before) == "" && s.CursorX == len(before)
		},
	})
}
