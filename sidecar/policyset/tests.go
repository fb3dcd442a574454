package policyset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// testsTime is how long all tests beside a set's files together may take.
const testsTime = 10 * time.Second // each file has a worker of its own, which a busy machine takes a while to start

// tested runs the tests beside the person's policies. The error describes the first failure.
func (p *Live) tested(ctx context.Context, f files) error {
	if _, lonely := errors.AsType[scripting.LonelyError](f.testsErr); f.testsErr != nil && !lonely {
		return f.testsErr
	}
	until := time.Now().Add(p.tests)
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for _, beside := range f.tests {
		t, err := p.engine.Test(limited, beside, nil)
		switch {
		case (err != nil || !t.Passed()) && !time.Now().Before(until) && ctx.Err() == nil: // the machine may only be busy now
			return passing{fmt.Errorf("%s: the tests of all policies took more than %s", beside.Tests.Name, p.tests)}
		case err != nil:
			return fmt.Errorf("%s: %w", beside.Tests.Name, err)
		case !t.Passed():
			return errors.New(firstFailed(t))
		}
	}
	return nil
}

// firstFailed describes the first failed test.
func firstFailed(t policy.Tested) string {
	for _, problem := range t.Problems {
		if !problem.Warning {
			return problem.String()
		}
	}
	for _, c := range t.Cases {
		if f := c.Failed; f != nil {
			return fmt.Sprintf("%s:%d: %s: %s", t.File, c.Line, c.Title, f.Text)
		}
	}
	return t.File + ": a test failed"
}
