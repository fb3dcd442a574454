package pane

import (
	"errors"
	"fmt"
	"time"
)

// errandFor is how long a pane waits for the file system.
const errandFor = 2 * time.Second

var (
	errNoAnswer = errors.New("the file system does not answer")
	errNotBegun = fmt.Errorf("%w to an earlier question", errNoAnswer) // and nothing was done
)

// errand does something with files that lie where an agent has its own. Their file system may not
// answer; the pane then goes on without the result (errNoAnswer). One errand runs at a time: while
// another is under way, errand returns errNotBegun.
func errand[T any](p *Pane, do func() (T, error)) (out T, err error) {
	type result struct {
		out T
		err error
	}
	select {
	case p.errands <- struct{}{}:
	default:
		return out, errNotBegun
	}
	done := make(chan result, 1)
	go func() {
		out, err := do()
		<-p.errands // before the answer, since another errand may follow it at once
		done <- result{out, err}
	}()
	late := time.NewTimer(errandFor)
	defer late.Stop()
	select {
	case r := <-done:
		return r.out, r.err
	case <-late.C:
		return out, errNoAnswer
	}
}
