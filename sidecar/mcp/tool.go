package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// Tool is one tool. Make it with From or Func.
type Tool struct {
	Name        string
	Description string        // for the agent: what it does, and when to call it
	Reads       bool          // it changes nothing
	Ends        bool          // its changes cannot be undone
	Roles       []Role        // who has it; none: everybody
	Within      time.Duration // how long it may wait for somebody, beyond what any call may take

	arguments reflect.Type
	other     map[string]string // other names of arguments: the argument's own name by the other one
	do        func(ctx context.Context, call *Call, arguments json.RawMessage) (any, error)
}

// Call is one call of a tool.
type Call struct {
	connect func(ctx context.Context) (*api.Client, error)
	prefix  string
	agent   *api.AgentCall
	who     *api.Introduced // who calls; nil until the sidecar was asked
	left    context.Context // ends when the client has closed its end
	// read has told called once it is known whether the client has read the answer to the call.
	read   func(told func(reading))
	later  func(do func()) // runs something beside the call, which is waited for at the end
	within time.Duration   // Tool.Within
}

// callTimeout is how long an operation that waits for nobody may take.
const callTimeout = 20 * time.Second

// From makes a tool of an operation. The fields of A are the arguments: they become the properties of the
// schema, by their json and jsonschema tags, and those without omitempty are required. ask turns the arguments
// into the operation's request. tell turns its reply into what the agent is told; nil tells the reply itself.
func From[A, Q, R any](t Tool, op api.Op[Q, R], ask func(A) (Q, error), tell func(R) (any, error)) Tool {
	return Func(t, func(ctx context.Context, call *Call, in A) (any, error) {
		req, err := ask(in)
		if err != nil {
			return nil, err
		}
		reply, err := Ask(ctx, call, op, req)
		if err != nil || tell == nil {
			return reply, err
		}
		return tell(reply)
	})
}

// Func makes a tool of a function.
func Func[A any](t Tool, do func(ctx context.Context, call *Call, in A) (any, error)) Tool {
	t.arguments = reflect.TypeFor[A]()
	t.do = func(ctx context.Context, call *Call, arguments json.RawMessage) (any, error) {
		var in A
		if err := t.read(arguments, &in); err != nil {
			return nil, err
		}
		return do(ctx, call, in)
	}
	return t
}

// Ask makes a request for the agent that calls, once the sidecar knows who that is.
func Ask[Q, R any](ctx context.Context, call *Call, op api.Op[Q, R], req Q) (reply R, err error) {
	c, err := call.client(ctx)
	if err != nil {
		return reply, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout+call.within)
	defer cancel()
	return api.Call(ctx, c, op, req)
}

// client reaches the sidecar, and has it find out who calls.
func (c *Call) client(ctx context.Context) (*api.Client, error) {
	client, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	client.Agent = c.agent
	if c.who == nil {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		who, err := api.Call(ctx, client, api.Introduce, api.None{})
		if err != nil {
			return nil, err
		}
		c.who = &who
	}
	return client, nil
}

// WhenRead has told called once. read says that the client has read what the tool returns; it is false if the
// client never will, or if nobody can tell.
func (c *Call) WhenRead(told func(read bool)) {
	c.read(func(now reading) { told(now == read) })
}

// Agent returns what is known about the agent that calls.
func (c *Call) Agent() *api.AgentCall { return c.agent }

// Session returns the session of the agent that calls, or an error if it has none.
func (c *Call) Session(ctx context.Context) (string, error) {
	if _, err := c.client(ctx); err != nil {
		return "", err
	}
	if !c.who.Verified() {
		return "", api.Errorf(api.CodeRefused, "this needs a session, and it cannot be found out in which pane you run: %s", c.who.Why).
			WithHint("%s", adoptMe)
	}
	return string(c.who.Session.ID), nil
}

// note returns what an agent has to know about itself, "" for nothing.
func (c *Call) note() string {
	if c.who == nil || c.who.Verified() {
		return ""
	}
	return "You are not verified: " + c.who.Why + ". What you send says so to its reader, and neither notices nor answers can reach you."
}

// isFor reports whether an agent of that role has the tool.
func (t Tool) isFor(role Role) bool { return len(t.Roles) == 0 || slices.Contains(t.Roles, role) }

// schema returns what a client is told about the arguments. Other arguments are ignored, not refused, because a
// client may add some.
func (t Tool) schema() (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t.arguments, nil)
	if err != nil {
		return nil, err
	}
	s.AdditionalProperties = nil
	for _, of := range s.Properties { // several clients know a type only as one word
		if types := slices.DeleteFunc(slices.Clone(of.Types), func(one string) bool { return one == "null" }); len(types) == 1 {
			of.Type, of.Types = types[0], nil
		}
	}
	return s, nil
}

// read reads the arguments of a call. Its errors are in words on which an agent can act.
func (t Tool) read(arguments json.RawMessage, into any) error {
	given := map[string]json.RawMessage{}
	if text := bytes.TrimSpace(arguments); len(text) > 0 && !bytes.Equal(text, []byte("null")) {
		if json.Unmarshal(text, &given) != nil {
			return api.Errorf(api.CodeUsage, "the arguments are not a JSON object")
		}
	}
	for name, of := range t.other {
		if value, ok := given[name]; ok && given[of] == nil {
			given[of] = value
		}
	}
	for name, value := range given {
		if bytes.Equal(value, []byte("null")) {
			delete(given, name) // several clients send omitted arguments as null
		}
	}
	schema, err := t.schema()
	if err != nil {
		return err
	}
	for _, name := range schema.Required {
		if given[name] == nil && name != "computer" { // missing means this computer
			return api.Errorf(api.CodeUsage, "argument %q is missing", name).WithHint("%s takes %s", t.Name, strings.Join(t.takes(schema), ", "))
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	wrong := json.Unmarshal(text, into)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](wrong); ok {
		return api.Errorf(api.CodeUsage, "argument %q is a %s", kind.Field[1+strings.LastIndexByte(kind.Field, '.'):], kind.Value).
			WithHint("%s takes %s", t.Name, strings.Join(t.takes(schema), ", "))
	}
	if wrong != nil {
		return api.Errorf(api.CodeUsage, "arguments: %w", wrong)
	}
	return nil
}

// takes says which arguments a tool has.
func (t Tool) takes(schema *jsonschema.Schema) (all []string) {
	for _, name := range schema.PropertyOrder {
		text := fmt.Sprintf("%s (%s", name, schema.Properties[name].Type)
		if !slices.Contains(schema.Required, name) {
			text += ", optional"
		}
		all = append(all, text+")")
	}
	return all
}

// Failure is the form of every error: it is told by its status, as the documents have it.
type Failure struct {
	Status string `json:"status"` // error
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"` // what to do next
	Code   string `json:"code,omitempty"` // as of api.Code
}

func failed(err error) *sdk.CallToolResult {
	told := api.AsError(err)
	result := said(Failure{"error", told.Text, told.Hint, string(told.Code)}, "")
	result.IsError = true
	return result
}

// said returns a result: a text as it is, or a value as JSON, followed by the note if there is one.
func said(value any, note string) *sdk.CallToolResult {
	text, plain := value.(Text)
	if !plain {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			return failed(fmt.Errorf("reply: %w", err))
		}
		text = Text(strings.TrimSuffix(b.String(), "\n"))
	}
	result := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
	if note != "" {
		result.Content = append(result.Content, &sdk.TextContent{Text: note})
	}
	return result
}

// Text is a result in the words of a document.
type Text string
