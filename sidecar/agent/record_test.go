package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Transcripts that real agents wrote are made into fixtures by TestLab_record (Gemini CLI and
// opencode, whose events are written as lines) and by
//
//	INTERCOM_TRANSCRIPTS=dir go test -run TestRecordings_strip ./sidecar/agent
//
// where dir holds <agent>-<version>/<what>/<any>.jsonl. Whatever could identify a computer, a person or an account
// is removed, and so are the agents' own instructions to their models, which are not ours to pass on. The words of
// the conversation, and all keys, stay as they were.
func TestRecordings_strip(t *testing.T) {
	dir := os.Getenv("INTERCOM_TRANSCRIPTS")
	if dir == "" {
		t.Skip("INTERCOM_TRANSCRIPTS names no directory of new transcripts")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.jsonl"))
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		to := filepath.Join("testdata", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		var out bytes.Buffer
		for line := range bytes.Lines(data) {
			stripped, err := strip(line)
			require.NoError(t, err, "%s: %s", path, line)
			out.Write(append(stripped, '\n'))
		}
		require.NoError(t, os.WriteFile(to, out.Bytes(), 0o644))
	}
}

// The fixtures reveal nothing about the computer on which they were recorded.
func TestRecordings_tellNothingOfTheirComputer(t *testing.T) {
	host, _ := os.Hostname()
	for _, path := range recordings(t) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		found := telling.FindAllString(string(data), 3)
		assert.Empty(t, found, path)
		assert.False(t, len(host) > 6 && bytes.Contains(data, []byte(host)), path)
		assert.Less(t, len(data), 100<<10, path)
	}
}

var (
	telling    = regexp.MustCompile(`.{0,20}(/tmp/|sk-ant|/home/[^aw.]|/root/|/Users/).{0,20}`)
	homeOfLab  = regexp.MustCompile(`/tmp/[^ "\\]*/(work|home|tmp)\b`)
	restOfLab  = regexp.MustCompile(`/tmp/[^ "\\]*`)
	dashedLab  = regexp.MustCompile(`-tmp-[A-Za-z0-9-]*-work`)
	systemName = regexp.MustCompile(`Linux [0-9][^ "\\]*`)
)

// strip rewrites one record and keeps the order of its keys.
func strip(line []byte) ([]byte, error) {
	var head struct {
		Type    string         `json:"type"`
		Set     map[string]any `json:"$set"`
		Payload struct {
			Type string `json:"type"`
			Role string `json:"role"`
		} `json:"payload"`
		Attachment struct {
			Type string `json:"type"`
		} `json:"attachment"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	s := stripper{longest: 1 << 20}
	switch head.Type {
	case "api-request", "api-request-shape", "api-request-blob", "session_meta", "world_state", "turn_context", "token_usage_record":
		s.longest = 48
	case "":
		if head.Set["messages"] != nil {
			s.longest = 48
		}
	case "user":
		if bytes.Contains(line, []byte(`[{"text":"<session_context>`)) {
			s.longest = 48
		}
	case "compacted":
		s.longest = 200
	case "attachment":
		if head.Attachment.Type != "queued_command" {
			s.longest = 48
		}
	case "response_item":
		if head.Payload.Role == "developer" || head.Payload.Role == "user" && bytes.Contains(line, []byte("<environment_context>")) {
			s.longest = 48
		}
	case "event_msg":
		if head.Payload.Type == "thread_settings_applied" {
			s.longest = 48
		}
	}
	s.in = json.NewDecoder(bytes.NewReader(line))
	s.in.UseNumber()
	err := s.value("")
	return s.out.Bytes(), err
}

type stripper struct {
	in      *json.Decoder
	out     bytes.Buffer
	longest int
	depth   int
}

func (s *stripper) skip() error {
	var skipped json.RawMessage
	return s.in.Decode(&skipped)
}

func (s *stripper) value(key string) error {
	token, err := s.in.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return s.inside(v)
	case string:
		return s.text(v, key)
	}
	return s.write(token)
}

// inside writes an object or a list. Of parts that do not matter here, it keeps only the first element of a list
// and nothing deeply nested.
func (s *stripper) inside(open json.Delim) error {
	s.out.WriteString(open.String())
	for n := 0; s.in.More(); n++ {
		var key string
		brief := s.longest < 1000 && (open == '[' && n >= 1 || s.depth > 5)
		if n > 0 && !brief {
			s.out.WriteByte(',')
		}
		if open == '{' {
			token, err := s.in.Token()
			if err != nil {
				return err
			}
			key = token.(string)
			if brief {
				if err := s.skip(); err != nil {
					return err
				}
				continue
			}
			if err := s.write(key); err != nil {
				return err
			}
			s.out.WriteByte(':')
		} else if brief {
			if err := s.skip(); err != nil {
				return err
			}
			continue
		}
		s.depth++
		if err := s.value(key); err != nil {
			return err
		}
		s.depth--
	}
	token, err := s.in.Token()
	if err != nil && err != io.EOF {
		return err
	}
	s.out.WriteString(token.(json.Delim).String())
	return nil
}

func (s *stripper) text(v, key string) error {
	v = homeOfLab.ReplaceAllString(v, "/home/ada/$1")
	v = restOfLab.ReplaceAllString(v, "/home/ada/other")
	v = dashedLab.ReplaceAllString(v, "-home-ada-work")
	v = systemName.ReplaceAllString(v, "Linux")
	if len(v) > s.longest {
		v = strings.ToValidUTF8(v[:s.longest], "") + "…"
	}
	switch key {
	case "pidDomain":
		v = "linux"
	case "path", "projectHash":
		v = "…"
	}
	return s.write(v)
}

func (s *stripper) write(v any) error {
	enc := json.NewEncoder(&s.out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	s.out.Truncate(s.out.Len() - 1) // its line feed
	return err
}

// recordings lists all transcripts among the fixtures.
func recordings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "*", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}
