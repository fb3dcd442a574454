package daemon

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// With any number of parts, the result of the first that ends is received, and no other part blocks on its own
// result.
func TestParts_anyNumberEnds(t *testing.T) {
	for _, n := range []int{1, 10, 11, 100} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			parts, failed := newParts(), errors.New("failed")
			for i := range n - 1 {
				parts.start(ctx, fmt.Sprint(i), func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}
			parts.start(ctx, "last", func(context.Context) error {
				time.Sleep(time.Second)
				return failed
			})
			assert.ErrorIs(t, <-parts.first, failed)
			stop()
			parts.Wait() // a part that blocks on its result is a deadlock, which synctest detects
		})
	}
}

// A part that panics ends with an error that names the part.
func TestParts_panic(t *testing.T) {
	parts := newParts()
	parts.start(t.Context(), "face", func(context.Context) error { panic("no face") })
	parts.Wait()
	assert.ErrorContains(t, <-parts.first, "face: panic: no face")
}
