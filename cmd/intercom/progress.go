package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A person at a terminal is told that work goes on, and on what. Elsewhere nobody reads that: there, standard error has
// what went wrong, and what waits for a person.

// stillAfter is how long a command may work without printing anything.
const stillAfter = 2 * tellAfter

// attended reports whether standard error is a terminal.
func (a *app) attended() bool {
	f, ok := a.Stderr.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// progress tells a person at a terminal what the command waits for.
func (a *app) progress(format string, args ...any) {
	if a.attended() {
		a.note(format, args...)
	}
}

// still tells a person at a terminal once that the work goes on, unless something else is printed before. The returned
// function cancels that.
func (a *app) still(what string) (done func()) {
	if !a.attended() {
		return func() {}
	}
	a.silence = time.AfterFunc(stillAfter, func() { fmt.Fprintf(a.Stderr, "intercom: note: %s is still working; C-c stops it\n", what) })
	return a.told
}

// told cancels what still would print.
func (a *app) told() {
	if a.silence != nil {
		a.silence.Stop()
	}
}
