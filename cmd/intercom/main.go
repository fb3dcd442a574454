// Command intercom connects programs in tmux panes: what one says, the others hear. It is
// the command line, the sidecar that does the work, and the line programs of the demo.
//
// The command line owns no state and decides nothing: it parses, makes one request of
// package api, and prints what came back. It starts goroutines only to heed signals, to wait
// for a sidecar that it has started, to say that it still works, and, in a hook, to give up
// in time.
package main

import "os"

func main() {
	os.Exit(run(untilSignal(), env{
		Args:    os.Args[1:],
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Getenv:  os.Getenv,
		Environ: os.Environ,

		Published: published,
	}))
}
