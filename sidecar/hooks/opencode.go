package hooks

import (
	"bytes"
	"errors"
	"fmt"
)

// opencode runs each file of JavaScript in the plugins directory of its configuration. Ours asks
// before each use of a tool, and throws where the answer denies it, which the model is told. See
// https://opencode.ai/docs/plugins. The file is ours alone; one of that name which is not is left
// as it is.

const (
	opencodeEvent = "tool.execute.before"
	opencodeMark  = "// Written by intercom hooks install opencode.\n"
)

// errNotOurs is the error of a file that somebody else has written in our place.
var errNotOurs = errors.New("it is not the plugin that intercom hooks install wrote")

const opencodePlugin = opencodeMark + `import { spawnSync } from "node:child_process"

export const Intercom = async () => ({
  "tool.execute.before": async (input, output) => {
    const asked = JSON.stringify({ session_id: input.sessionID, tool_name: input.tool, tool_input: output.args })
    const said = spawnSync(%s, ["hook", "opencode", "tool.execute.before"], { input: asked, encoding: "utf8", timeout: 2000 })
    let answer = {}
    try {
      answer = JSON.parse(said.stdout || "{}")
    } catch {}
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
})
`

func installOpencode(text []byte, program string) ([]byte, error) {
	if !blank(text) && !bytes.HasPrefix(text, []byte(opencodeMark)) {
		return nil, errNotOurs
	}
	return fmt.Appendf(nil, opencodePlugin, quoted(program)), nil
}

func uninstallOpencode(text []byte, _ string) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte(opencodeMark)) {
		return text, nil
	}
	return nil, nil
}
