package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

// documentTools are the tools of the collaboration document with its arguments, and the two that list sessions and computers. The
// document's example gives every argument of start_session, but a session may also start without a message (T29).
var documentTools = []string{
	"start_session(computer string, project_dir string, title string, [message string])",
	"get_session_data(computer string, session_id string)",
	"send_message(computer string, session_id string, message string)",
	"stop_notifications(computer string, session_id string)",
	"end_session(computer string, session_id string)",
	"list_sessions()",
	"list_computers()",
}

// moreArguments are the optional arguments that we add to these.
var moreArguments = map[string]string{
	"start_session":    "agent string, project_path string, thinking_mode string",
	"get_session_data": "since_timestamp string, tail_chars integer, until_timestamp string",
	"send_message":     "close_link boolean, direct boolean",
}

// moreTools are the other tools, for an agent that may be lead or teammate.
var moreTools = []string{
	"check_messages([wait_s number])",
	"reply(message_id string, message string)",
	"chat_start(session_id string, [message string], [name string], [turns integer])",
	"chat_stop(chat string)",
	"list_chats()",
	"spawn_teammate(name string, role string, prompt string, project_dir string, [agent string], [require_plan boolean])",
	"list_teammates([project_dir string])",
	"team_send(to string, message string, [from string], [project_dir string])",
	"team_broadcast(message string, [from string], [project_dir string])",
	"team_inbox([name string], [peek boolean], [project_dir string])",
	"shutdown_request(teammate string)",
	"shutdown_response(request_id string, [approve boolean], [reason string])",
	"plan_approval([approve boolean], [feedback string], [plan string], [request_id string])",
	"aea_send(to string, type string, subject string, message string, [context string], [conversation_id string], [priority string], [reply_to string], [repository string], [to_path string])",
	"aea_check([repository string])",
	"aea_list([repository string])",
	"aea_thread(conversation_id string, [repository string])",
}

// A real process lists exactly these tools, with exactly these arguments and their types. A prefix changes only the names.
func TestM1_T37_toolsAndArguments(t *testing.T) {
	t.Parallel()
	want := slices.Clone(moreTools)
	for _, tool := range documentTools {
		name, rest, _ := strings.Cut(tool, "(")
		arguments := strings.Split(strings.TrimSuffix(rest, ")"), ", ")
		needed := slices.DeleteFunc(slices.Clone(arguments), func(a string) bool { return a == "" || strings.HasPrefix(a, "[") })
		free := slices.DeleteFunc(slices.Clone(arguments), func(a string) bool { return !strings.HasPrefix(a, "[") })
		for _, more := range strings.Split(moreArguments[name], ", ") {
			if more != "" {
				free = append(free, "["+more+"]")
			}
		}
		slices.Sort(free)
		want = append(want, name+"("+strings.Join(append(needed, free...), ", ")+")")
	}
	for _, prefix := range []string{"", "teleclaude__"} {
		var got []string
		for name, tool := range toolsOf(t, "--tool-prefix", prefix) {
			assert.NotEmpty(t, tool.Description, name)
			got = append(got, strings.TrimPrefix(signature(tool), prefix))
		}
		assert.ElementsMatch(t, want, got)
	}
}

// signature is a tool with its arguments: the required ones in their order, then the others by name.
func signature(tool *sdk.Tool) string {
	properties, needed := propertiesOf(tool), requiredOf(tool)
	var arguments []string
	for _, name := range needed {
		arguments = append(arguments, fmt.Sprintf("%s %v", name, properties[name].(map[string]any)["type"]))
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(needed, name) {
			arguments = append(arguments, fmt.Sprintf("[%s %v]", name, properties[name].(map[string]any)["type"]))
		}
	}
	return tool.Name + "(" + strings.Join(arguments, ", ") + ")"
}
