// Program runs a persona: see package persona.
package main

import (
	"os"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

func main() { os.Exit(persona.Main(os.Args[1:])) }
