package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An approval without a reason is shown without a trailing colon.
func TestShowApprovals_withoutAReason(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{env: env{Stdout: &out}}
	a.showApprovals([]aeaApproval{{Repository: "/src/b", Since: "2026-11-28 06:51:05"}, {Repository: "/src/c", Since: "2026-11-28 06:51:06", Reason: "a handoff"}})
	assert.Contains(t, out.String(), "since 2026-11-28 06:51:05\n")
	assert.Contains(t, out.String(), "since 2026-11-28 06:51:06: a handoff\n")
}
