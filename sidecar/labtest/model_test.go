package labtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// dialect is how a test speaks one API. Requests are like those of the agents, without the irrelevant parts.
type dialect struct {
	api     string
	path    string
	whole   string // the path for an answer that is not streamed, if it differs
	shell   string // the name of the agent's tool for commands
	command string // the name of that tool's argument
	// request is a conversation of the user's texts, all but the last answered. results, if any, follow the last text.
	request func(stream bool, texts []string, results []string) any
	// answer extracts the words and the tool call from the JSON values of an answer.
	answer func(values []map[string]any) (words, tool, arguments string)
}

type object = map[string]any

var dialects = []dialect{
	{
		api: "anthropic", path: "/v1/messages?beta=true", shell: "Bash", command: "command",
		request: func(stream bool, texts, results []string) any {
			var messages []any
			for i, text := range texts {
				if i > 0 {
					messages = append(messages, object{"role": "assistant", "content": []any{object{"type": "text", "text": "so?"}}})
				}
				messages = append(messages, object{"role": "user", "content": []any{
					object{"type": "text", "text": "<system-reminder>\nBe quiet.\n</system-reminder>"}, object{"type": "text", "text": text},
				}})
			}
			for _, result := range results {
				messages = append(messages,
					object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": object{}}}},
					object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}}})
			}
			return object{
				"model": "m", "stream": stream, "messages": messages, "tools": []any{object{"name": "Bash"}, object{"name": "Write"}},
				"metadata": object{"user_id": `{"session_id":"thread-1"}`},
			}
		},
		answer: func(values []map[string]any) (words, tool, arguments string) {
			for _, v := range values {
				for _, at := range []string{"delta", "content_block"} {
					if d, ok := v[at].(object); ok {
						words += text(d["text"])
						tool += text(d["name"])
						arguments += text(d["partial_json"])
					}
				}
				blocks, _ := v["content"].([]any)
				for _, b := range blocks {
					b := b.(object)
					words += text(b["text"])
					if tool += text(b["name"]); b["input"] != nil {
						arguments += encoded(b["input"])
					}
				}
			}
			return words, tool, arguments
		},
	},
	{
		api: "responses", path: "/v1/responses", shell: "exec_command", command: "cmd",
		request: func(stream bool, texts, results []string) any {
			input := []any{
				object{"type": "message", "role": "developer", "content": []any{object{"type": "input_text", "text": "Be quiet."}}},
				object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": "<environment_context>x</environment_context>"}}},
			}
			for i, text := range texts {
				if i > 0 {
					input = append(input, object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": "so?"}}})
				}
				input = append(input, object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": text}}})
			}
			for _, result := range results {
				input = append(input, object{"type": "function_call", "call_id": "call_1"}, object{"type": "function_call_output", "call_id": "call_1", "output": result})
			}
			return object{
				"model": "m", "stream": stream, "input": input, "tools": []any{object{"type": "function", "name": "exec_command"}, object{"type": "web_search"}},
				"prompt_cache_key": "thread-1",
			}
		},
		answer: func(values []map[string]any) (words, tool, arguments string) {
			for _, v := range values {
				if v["type"] == "response.output_text.delta" {
					words += text(v["delta"])
				}
				if item, ok := v["item"].(object); ok && v["type"] == "response.output_item.done" && item["type"] == "function_call" {
					tool, arguments = text(item["name"]), text(item["arguments"])
				}
				output, _ := v["output"].([]any)
				for _, item := range output {
					item := item.(object)
					tool, arguments = tool+text(item["name"]), arguments+text(item["arguments"])
					parts, _ := item["content"].([]any)
					for _, p := range parts {
						words += text(p.(object)["text"])
					}
				}
			}
			return words, tool, arguments
		},
	},
	{
		api: "chat", path: "/v1/chat/completions", shell: "bash", command: "command",
		request: func(stream bool, texts, results []string) any {
			messages := []any{object{"role": "system", "content": "Be quiet."}}
			for i, text := range texts {
				if i > 0 {
					messages = append(messages, object{"role": "assistant", "content": "so?"})
				}
				messages = append(messages, object{"role": "user", "content": text})
			}
			for _, result := range results {
				messages = append(messages, object{"role": "assistant", "content": nil}, object{"role": "tool", "tool_call_id": "call_1", "content": result})
			}
			return object{"model": "m", "stream": stream, "messages": messages, "tools": []any{object{"type": "function", "function": object{"name": "bash"}}}}
		},
		answer: func(values []map[string]any) (words, tool, arguments string) {
			for _, v := range values {
				choices, _ := v["choices"].([]any)
				for _, c := range choices {
					for _, at := range []string{"delta", "message"} {
						d, _ := c.(object)[at].(object)
						words += text(d["content"])
						calls, _ := d["tool_calls"].([]any)
						for _, call := range calls {
							f := call.(object)["function"].(object)
							tool, arguments = tool+text(f["name"]), arguments+text(f["arguments"])
						}
					}
				}
			}
			return words, tool, arguments
		},
	},
	{
		api: "google", path: "/v1beta/models/m:streamGenerateContent?alt=sse", whole: "/v1beta/models/m:generateContent", shell: "run_shell_command", command: "command",
		request: func(_ bool, texts, results []string) any {
			contents := []any{object{"role": "user", "parts": []any{object{"text": "<session_context>\nx\n</session_context>"}}}}
			for i, text := range texts {
				if i > 0 {
					contents = append(contents, object{"role": "model", "parts": []any{object{"text": "so?"}}})
				}
				contents = append(contents, object{"role": "user", "parts": []any{object{"text": text}}})
			}
			for _, result := range results {
				contents = append(contents,
					object{"role": "model", "parts": []any{object{"functionCall": object{"name": "run_shell_command"}}}},
					object{"role": "user", "parts": []any{object{"functionResponse": object{"id": "call_1", "response": result}}}})
			}
			return object{"contents": contents, "tools": []any{object{"functionDeclarations": []any{object{"name": "run_shell_command"}}}}}
		},
		answer: func(values []map[string]any) (words, tool, arguments string) {
			for _, v := range values {
				for _, c := range v["candidates"].([]any) {
					for _, p := range c.(object)["content"].(object)["parts"].([]any) {
						words += text(p.(object)["text"])
						if call, ok := p.(object)["functionCall"].(object); ok {
							tool, arguments = text(call["name"]), encoded(call["args"])
						}
					}
				}
			}
			return words, tool, arguments
		},
	},
}

func eachDialect(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Helper()
	for _, d := range dialects {
		t.Run(d.api, func(t *testing.T) { test(t, d) })
	}
}

func TestModel_answersInEveryAPI(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		m, _ := newModel(t)
		const said = "some *words*,\n\twith <tags> & é 日本  and two blanks"
		for _, stream := range []bool{true, false} {
			words, tool, _ := ask(t, m, d, stream, []string{"earlier", "please [[say " + said + "]]"}, nil)
			assert.Equal(t, said, words, "stream %t", stream)
			assert.Empty(t, tool)
		}
		last := m.Exchanges("bob")[1]
		assert.Equal(t, d.api, last.API)
		assert.Equal(t, []string{"please [[say " + said + "]]"}, last.User, "byte for byte, without what the client adds")
		assert.Equal(t, 1, last.Earlier)
		assert.Equal(t, said, last.Answer)
		assert.Equal(t, []string{said, said}, m.Answers("bob"))
		assert.Empty(t, m.Exchanges("alice"))
	})
}

func TestModel_textToolText(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		m, _ := newModel(t)
		const prompt = `[[before first]] [[bash echo "a b" | tr a-z A-Z]] [[say last]]`
		for _, stream := range []bool{true, false} {
			words, tool, arguments := ask(t, m, d, stream, []string{prompt}, nil)
			assert.Equal(t, "first", words)
			assert.Equal(t, d.shell, tool)
			var got map[string]any
			require.NoError(t, json.Unmarshal([]byte(arguments), &got))
			assert.Equal(t, `echo "a b" | tr a-z A-Z`, got[d.command])

			words, tool, _ = ask(t, m, d, stream, []string{prompt}, []string{"A B"})
			assert.Equal(t, "last", words)
			assert.Empty(t, tool)
		}
		after := m.Exchanges("bob")[1]
		assert.Empty(t, after.User, "the text is not new")
		require.Len(t, after.Results, 1)
		assert.Equal(t, "A B", strings.Trim(after.Results[0].Text, `"`))
		assert.Equal(t, []string{prompt}, m.Received("bob"), "and is told once")
		require.NotNil(t, m.Exchanges("bob")[0].Call)
		assert.Nil(t, after.Call)
	})
}

func TestModel_errors(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		m, _ := newModel(t)
		for _, want := range []int{529, 529, http.StatusOK} {
			resp := post(t, t.Context(), m, d.path, d.request(true, []string{"[[error 529 2]] [[say well]]"}, nil))
			assert.Equal(t, want, resp.StatusCode)
			_, err := io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
		}
		tmuxtest.WaitFor(t, "the end of all", func() bool { x := m.Exchanges("bob"); return len(x) == 3 && x[2].Over })
		assert.Len(t, m.Received("bob"), 1, "a request made again says nothing new")
		assert.Equal(t, []string{"well"}, m.Answers("bob"))

		resp := post(t, t.Context(), m, d.path, d.request(true, []string{"[[error 500]]"}, nil))
		defer resp.Body.Close()
		var body map[string]any
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
		assert.NotEmpty(t, body["error"])
	})
}

func TestModel_holdsUntilReleased(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		m, _ := newModel(t)
		for _, prompt := range []string{"[[hold]] [[say one two three four]]", "[[stall]] [[say one two three four]]"} {
			got := make(chan string, 1)
			go func() {
				words, _, _ := ask(t, m, d, true, []string{prompt}, nil)
				got <- words
			}()
			tmuxtest.WaitFor(t, "the model holds", func() bool { return held(m) })
			assert.Empty(t, got)
			m.Release("alice") // releases another agent
			assert.True(t, held(m))
			m.Release("bob")
			assert.Equal(t, "one two three four", <-got)
		}
	})
}

// A person who presses Escape closes the connection.
func TestModel_cut(t *testing.T) {
	eachDialect(t, func(t *testing.T, d dialect) {
		m, _ := newModel(t)
		ctx, cancel := context.WithCancel(t.Context())
		resp := post(t, ctx, m, d.path, d.request(true, []string{"[[hold]] [[say one two three four]]"}, nil))
		defer resp.Body.Close()
		tmuxtest.WaitFor(t, "the model holds", func() bool { return held(m) })
		cancel()
		tmuxtest.WaitFor(t, "the end", func() bool { return m.Exchanges("bob")[0].Over })
		x := m.Exchanges("bob")[0]
		assert.True(t, x.Cut)
		assert.Equal(t, "one two ", x.Answer, "what was sent")
	})
}

func TestModel_slow(t *testing.T) {
	m, _ := newModel(t)
	d := dialects[0]
	began := time.Now()
	words, _, _ := ask(t, m, d, true, []string{"[[slow 0.2]] [[lines 400]]"}, nil)
	assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	assert.Equal(t, 400, strings.Count(words, "Line "))
	assert.Contains(t, words, "Line 400 of 400")
}

// Requests beside the conversation with the user are recognised, and answered at once.
func TestModel_sideThreads(t *testing.T) {
	for _, c := range []struct {
		name, path string
		body       any
		header     string
		side       string
	}{
		{"Claude's title", "/v1/messages", object{"system": "Write a title.", "messages": []any{object{"role": "user", "content": "[[stall]]"}}}, "", "title"},
		{"Claude's probe", "/v1/messages", object{"messages": []any{object{"role": "user", "content": "quota"}}}, "", "no tools"},
		{"Claude's sub-agent", "/v1/messages", dialects[0].request(true, []string{"look"}, nil), "X-Claude-Code-Agent-Id", "sub-agent"},
		{"Codex's title", "/v1/responses", codexTurn(`{"thread_id":"t2","thread_source":"thread_title","request_kind":"turn"}`), "", "title"},
		{"Codex's sub-agent", "/v1/responses", codexTurn(`{"thread_id":"t3","thread_source":"subagent","request_kind":"turn"}`), "", "subagent"},
		{"Codex itself", "/v1/responses", codexTurn(`{"thread_id":"t1","thread_source":"user","request_kind":"turn"}`), "", ""},
		{"Gemini's router", "/v1beta/models/m:generateContent", object{"contents": []any{object{"role": "user", "parts": []any{object{"text": "which?"}}}}, "generationConfig": object{"responseMimeType": "application/json"}}, "", "json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := newModel(t)
			m.Converse("seed")
			data, err := json.Marshal(c.body)
			require.NoError(t, err)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL("bob")+c.path, strings.NewReader(string(data)))
			require.NoError(t, err)
			if c.header != "" {
				req.Header.Set(c.header, "a1")
			}
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			tmuxtest.WaitFor(t, "the end", func() bool { return m.Exchanges("bob")[0].Over })
			assert.Equal(t, c.side, m.Exchanges("bob")[0].Side)
			if c.side == "" {
				assert.Contains(t, string(body), "bob-1")
				assert.NotEmpty(t, m.Received("bob"))
			} else {
				assert.NotContains(t, string(body), "bob-1", "no number is used up")
				assert.Empty(t, m.Received("bob"))
				assert.Empty(t, m.Answers("bob"))
			}
		})
	}
}

func codexTurn(metadata string) any {
	turn := dialects[1].request(true, []string{"hello"}, nil).(object)
	turn["client_metadata"] = object{"x-codex-turn-metadata": metadata}
	return turn
}

func TestModel_converses(t *testing.T) {
	m, _ := newModel(t)
	m.Converse("a seed")
	for n := 1; n <= 3; n++ {
		words, _, _ := ask(t, m, dialects[1], true, []string{"whatever"}, nil)
		assert.Equal(t, labtest.Talk("a seed", "bob", n), words)
	}
	words, _, _ := ask(t, m, dialects[1], true, []string{"[[say a directive]]"}, nil)
	assert.Equal(t, "a directive", words)
	_, tool, _ := ask(t, m, dialects[1], true, []string{"[[bash x]]"}, nil)
	assert.Equal(t, "exec_command", tool)
	words, _, _ = ask(t, m, dialects[1], true, []string{"[[bash x]]"}, []string{"done"})
	assert.Equal(t, labtest.Talk("a seed", "bob", 4), words)
}

func TestModel_script(t *testing.T) {
	m, _ := newModel(t)
	m.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		return labtest.Reply{Text: "scripted for " + x.Agent}, len(x.User) > 0 && x.User[0] == "this"
	})
	words, _, _ := ask(t, m, dialects[2], true, []string{"this"}, nil)
	assert.Equal(t, "scripted for bob", words)
	words, _, _ = ask(t, m, dialects[2], true, []string{"that [[say other]]"}, nil)
	assert.Equal(t, "other", words)
}

func TestModel_log(t *testing.T) {
	m, dir := newModel(t)
	words, _, _ := ask(t, m, dialects[0], true, []string{"<one> & [[say two]]"}, nil)
	require.Equal(t, "two", words)
	resp := post(t, t.Context(), m, "/v1/messages/count_tokens", object{"messages": []any{}})
	defer resp.Body.Close()
	var count map[string]int
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&count))
	assert.Contains(t, count, "input_tokens")
	tmuxtest.WaitFor(t, "the end", func() bool { return m.Exchanges("bob")[0].Over })

	var lines []map[string]any
	data, err := os.ReadFile(filepath.Join(dir, "model.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		lines = append(lines, v)
	}
	require.Len(t, lines, 3)
	assert.Equal(t, "request", lines[0]["event"])
	assert.Equal(t, []any{"<one> & [[say two]]"}, lines[0]["user"])
	assert.Contains(t, string(data), "<one> & [[say two]]", "readable, not only decodable")
	events := []any{lines[1]["event"], lines[2]["event"]}
	assert.ElementsMatch(t, []any{"answer", "other"}, events)
	assert.FileExists(t, filepath.Join(dir, "requests", "0001.json"))
}

func TestNewModel_loopbackOnly(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = labtest.NewModel(l, t.TempDir())
	assert.ErrorContains(t, err, "loopback")
}

// Helpers.

func newModel(t *testing.T) (*labtest.Model, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dir := t.TempDir()
	m, err := labtest.NewModel(l, dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, m.Close())
	})
	return m, dir
}

func post(t *testing.T, ctx context.Context, m *labtest.Model, path string, body any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL("bob")+path, strings.NewReader(string(data)))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	return resp
}

// ask asks bob's model and reads its whole answer.
func ask(t *testing.T, m *labtest.Model, d dialect, stream bool, texts, results []string) (words, tool, arguments string) {
	t.Helper()
	path := d.path
	if !stream && d.whole != "" {
		path = d.whole
	}
	resp := post(t, t.Context(), m, path, d.request(stream, texts, results))
	defer resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	var values []map[string]any
	if !stream {
		var v map[string]any
		assert.NoError(t, json.NewDecoder(resp.Body).Decode(&v))
		return d.answer([]map[string]any{v})
	}
	assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v map[string]any
		assert.NoError(t, json.Unmarshal([]byte(data), &v))
		values = append(values, v)
	}
	assert.NoError(t, lines.Err())
	return d.answer(values)
}

func held(m *labtest.Model) bool {
	all := m.Exchanges("bob")
	return len(all) > 0 && all[len(all)-1].Held && !all[len(all)-1].Over
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(data)
}
