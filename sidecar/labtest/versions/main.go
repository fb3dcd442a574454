// Versions prints the agents of the lab for .ci/agents, one a line: name, version, npm package.
package main

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

func main() {
	for _, k := range labtest.Kinds {
		fmt.Println(k, k.Version(), k.Package())
	}
}
