package screen_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// mcpArgument makes the test program an MCP server with one tool, for agents that ask before they use a tool.
const mcpArgument = "serve-mcp"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mcpArgument {
		if err := serveMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	debug.SetGCPercent(400) // there is enough memory, but not enough processors
	goleak.VerifyTestMain(m)
}

// serveMCP answers the requests that an agent sends before it calls the tool, and the call.
func serveMCP(in io.Reader, out io.Writer) error {
	requests := bufio.NewScanner(in)
	requests.Buffer(nil, 1<<20)
	answers := json.NewEncoder(out)
	for requests.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if err := json.Unmarshal(requests.Bytes(), &request); err != nil {
			return fmt.Errorf("request %q: %w", requests.Text(), err)
		}
		if request.ID == nil {
			continue // a notification
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": request.ID}
		switch request.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": request.Params.Version,
				"capabilities":    map[string]any{"tools": map[string]any{}},
				"serverInfo":      map[string]any{"name": "thing", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "poke", "description": "Pokes the thing.",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"how": map[string]any{"type": "string"}}},
			}}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "poked"}}}
		case "ping":
			answer["result"] = map[string]any{}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "there is no " + request.Method}
		}
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return requests.Err()
}

// mcpCommand returns the command line of that server.
func mcpCommand(t testing.TB) (command string, arguments []string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return program, []string{mcpArgument}
}
