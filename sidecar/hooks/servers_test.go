package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// told returns what a configuration says about our server, or nil if it names none.
func told(t require.TestingT, agent string, text []byte) any {
	var all map[string]any
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	known, _ := profile.AgentByName(agent)
	key := known.Settings.Server.Key
	if known.Settings.Server.Form == profile.ServerInTOML {
		require.NoError(t, toml.Unmarshal(text, &all), "%s", text)
		servers, _ := all[key].(map[string]any)
		return servers["intercom"]
	}
	plain, err := hujson.Standardize(append([]byte{}, text...))
	require.NoError(t, err, "%s", text)
	require.NoError(t, json.Unmarshal(plain, &all))
	servers, _ := all[key].(map[string]any)
	return servers["intercom"]
}

// The form that each agent reads, as its own commands write it.
func TestM5_whatIsInstalled(t *testing.T) {
	for agent, want := range map[string]string{
		"claude":   "{\n  \"mcpServers\": {\n    \"intercom\": {\n      \"type\": \"stdio\",\n      \"command\": \"/usr/local/bin/intercom\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n",
		"gemini":   "{\n  \"mcpServers\": {\n    \"intercom\": {\n      \"command\": \"/usr/local/bin/intercom\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n",
		"opencode": "{\n  \"mcp\": {\n    \"intercom\": {\n      \"type\": \"local\",\n      \"command\": [\n        \"/usr/local/bin/intercom\",\n        \"mcp\"\n      ],\n      \"enabled\": true\n    }\n  }\n}\n",
		"codex":    "[mcp_servers.intercom]\ncommand = \"/usr/local/bin/intercom\"\nargs = [\"mcp\"]\nenv_vars = [\"TMUX\", \"INTERCOM_SERVER\", \"XDG_RUNTIME_DIR\", \"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\"]\n",
	} {
		installed, err := InstallServer(agent, nil, program)
		require.NoError(t, err)
		assert.Equal(t, want, string(installed), agent)
		back, err := UninstallServer(agent, installed, program)
		require.NoError(t, err)
		assert.Nil(t, back, agent)
	}
}

// comesBack checks that a configuration is identical to the byte after our server was added and removed.
func comesBack(t *rapid.T, agent string, text []byte) {
	installed, err := InstallServer(agent, text, program)
	require.NoError(t, err, "%s: %q", agent, text)
	require.NotNil(t, told(t, agent, installed), "%s: %s", agent, installed)
	again, err := InstallServer(agent, installed, program)
	require.NoError(t, err)
	require.Equal(t, string(installed), string(again), "a second time changes nothing")
	moved, err := InstallServer(agent, installed, "/opt/intercom")
	require.NoError(t, err)
	require.Contains(t, string(moved), `"/opt/intercom"`)
	back, err := UninstallServer(agent, moved, program)
	require.NoError(t, err)
	require.Equal(t, string(text), string(back), "%s: %q", agent, installed)
	require.NotNil(t, back, "it was there")
}

func TestM5_anyConfigurationComesBack(t *testing.T) {
	t.Parallel()
	for _, agent := range ServerAgents() {
		t.Run(agent, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var text string
				if known, _ := profile.AgentByName(agent); known.Settings.Server.Form == profile.ServerInTOML {
					text = configuration(t)
				} else {
					text = document(t, known.Settings.Server.Comments)
				}
				comesBack(t, agent, []byte(text))
			})
			for _, text := range []string{"", "\n", "  \n\n"} {
				rapid.Check(t, func(t *rapid.T) { comesBack(t, agent, []byte(text)) })
			}
		})
	}
}

// Files as people have them are restored, too.
func TestM5_filesOfPeople(t *testing.T) {
	for _, f := range fixtures(t) {
		rapid.Check(t, func(t *rapid.T) { comesBack(t, f.agent, f.text) })
	}
}

func TestM5_besideOtherServers(t *testing.T) {
	for agent, texts := range map[string][]string{
		"claude":   {`{"mcpServers":{}}`, "{\n\t\"mcpServers\": {\n\t\t\"github\": {\"command\": \"gh\"}\n\t},\n\t\"numStartups\": 3\n}\n", "{}", "{ }\n"},
		"gemini":   {"{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // last\n  },\n}\n"},
		"opencode": {"{\"$schema\":\"https://opencode.ai/config.json\"}\n", "{\"mcp\":{}}"},
		"codex": {
			"model = \"x\"", "model = \"x\"\n", "model = \"x\"\n\n", "\n", "# only a comment", "[mcp_servers.other]\ncommand = \"x\"\nargs = [\"a\"]\n\n[tui]\n# end\n",
			"[mcp_servers]\n[mcp_servers.other.env]\nA = \"b\"\r\n", "a = 1\r\n[b]\r\nc = 2",
		},
	} {
		for _, text := range texts {
			rapid.Check(t, func(t *rapid.T) { comesBack(t, agent, []byte(text)) })
		}
	}
}

// Whatever somebody has added since stays, and so does another server with our name.
func TestM5_whatIsNotOursStays(t *testing.T) {
	installed, err := InstallServer("codex", []byte("a = 1\n"), program)
	require.NoError(t, err)
	back, err := UninstallServer("codex", append(installed, "\n[after]\nb = 2\n"...), program)
	require.NoError(t, err)
	assert.Equal(t, "a = 1\n\n[after]\nb = 2\n", string(back))

	for agent, text := range map[string]string{
		"claude": `{"mcpServers":{"intercom":{"command":"phone","args":["call"]}}}`, "gemini": `{"mcpServers":{"intercom":{"url":"http://x"}}}`,
		"opencode": `{"mcp":{"intercom":{"type":"remote","url":"http://x"}}}`, "codex": "[mcp_servers.intercom]\nurl = \"http://x\"\n",
	} {
		_, err := InstallServer(agent, []byte(text), program)
		require.ErrorIs(t, err, ErrOtherServer, agent)
		same, err := UninstallServer(agent, []byte(text), program)
		require.NoError(t, err)
		assert.Equal(t, text, string(same), agent)
	}
	for agent, text := range map[string]string{"claude": "{", "gemini": "[]", "opencode": `{"mcp":[]}`, "codex": "a ="} {
		_, err := InstallServer(agent, []byte(text), program)
		require.Error(t, err, agent)
	}
}

// Whatever others have put below and between the parts of our table stays.
func TestTables_othersBetween(t *testing.T) {
	ours := "[mcp_servers.intercom]\ncommand = \"intercom\"\nargs = [\"mcp\"]\n"
	for text, want := range map[string]string{
		ours + "\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n\n[mcp_servers.intercom.env]\nA = \"b\"\n":     "\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n",
		"[mcp_servers.intercom.env]\ncommand = \"x\"\n[a]\n" + ours + "[b]\n[[mcp_servers.intercom.c]]\n[c]\n": "[a]\n[b]\n[c]\n",
		"a = 1\n\n[mcp_servers.intercom] # the line above had no end\n" + ours[len("[mcp_servers.intercom]\n"):] +
			"\n[b]\nc = 2\n\n[mcp_servers.intercom.tools.x]\napproval_mode = \"auto\"\n": "a = 1\n\n[b]\nc = 2\n",
		ours + "\n[mcp_servers.intercom.env]\nA = \"b\"\n\n[b]\n": "\n[b]\n",
	} {
		moved, err := InstallServer("codex", []byte(text), "/opt/intercom")
		require.NoError(t, err, text)
		assert.Contains(t, string(moved), "\ncommand = \"/opt/intercom\"\nargs", "%s", moved)
		left, err := UninstallServer("codex", moved, program)
		require.NoError(t, err, text)
		assert.Equal(t, want, string(left), text)
	}
}

// A table in addition to one in braces would make the file unreadable for Codex.
func TestTables_noRoom(t *testing.T) {
	for _, text := range []string{"mcp_servers = { x = { command = \"y\" } }\n", "mcp_servers = {}"} {
		_, err := InstallServer("codex", []byte(text), program)
		_, ok := errors.AsType[*NoRoomError](err)
		assert.True(t, ok, "%s: %v", text, err)
	}
	for _, text := range []string{"mcp_servers.x.command = \"y\"\n", "[mcp_servers]\nx = { command = \"y\" }\n"} {
		rapid.Check(t, func(t *rapid.T) { comesBack(t, "codex", []byte(text)) })
	}
}

func FuzzInstallServer(f *testing.F) {
	for i, text := range []string{"", "{}", "{\"mcpServers\":{}}", "a = 1\n[b]", "[mcp_servers.intercom]\ncommand=\"intercom\"\nargs=[\"mcp\"]"} {
		f.Add(uint8(i), []byte(text))
	}
	f.Fuzz(func(t *testing.T, agent uint8, text []byte) {
		name := ServerAgents()[int(agent)%len(ServerAgents())]
		installed, err := InstallServer(name, text, program)
		if err != nil {
			return
		}
		before, err := UninstallServer(name, text, program)
		if err != nil || string(before) != string(text) {
			return // it already contained one of ours
		}
		back, err := UninstallServer(name, installed, program)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(back), "%s: %q", name, installed)
	})
}
