package journal

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"
)

// The upgrade is killed behind each of its statements, and the next start goes on as if nothing had
// happened.
func TestMigrate_killedAtEveryStatement(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(testing.TB) string{"schema 1": schema1, "schema 3": schema3} {
		whole := mustOpen(t, begin(t))
		want := tables(t, whole)
		require.NoError(t, whole.Close())
		from := map[string]int{"schema 1": 1, "schema 3": 3}[name]
		for step := from; step < len(migrations()); step++ {
			for n := range statements(migrations()[step]) {
				if underRace && n > 0 {
					break
				}
				t.Run(fmt.Sprintf("%s, step %d, statement %d", name, step+1, n+1), func(t *testing.T) {
					t.Parallel()
					dir := begin(t)
					out, err := childCommand(t, "upgrade", dir, fmt.Sprintf("%d %d", step, n)).CombinedOutput()
					require.EqualError(t, err, "signal: killed", "%s", out)
					j := mustOpen(t, dir)
					assert.Empty(t, j.Notice())
					assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
					assert.Equal(t, want, tables(t, j))
					if from == 3 {
						assertSchema3(t, j)
						assertHolds(t, j)
					}
					require.NoError(t, j.Close())
				})
			}
		}
	}
}

// Helpers of the tests.

func init() {
	maps.Copy(children, map[string]func() int{"upgrade": childUpgrade})
}

// childUpgrade opens a journal with migrations in which one statement kills this process.
func childUpgrade() int {
	err := sqlite.RegisterScalarFunction("die", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
	if err != nil {
		return complain(err)
	}
	at, last, _ := strings.Cut(os.Args[2], " ")
	step, _ := strconv.Atoi(at)
	n, _ := strconv.Atoi(last)
	steps := migrations()
	parts := statements(steps[step])
	steps[step] = strings.Join(slices.Insert(parts, n+1, "\nSELECT die();\n"), "")
	_, err = open(context.Background(), os.Args[1], steps)
	return complain(fmt.Errorf("it lives: %w", err))
}

// statements splits a migration into its statements, each of which ends a line.
func statements(text string) (parts []string) {
	for _, end := range regexp.MustCompile(`(?m);[ \t]*(--.*)?$`).FindAllStringIndex(text, -1) {
		begin := len(strings.Join(parts, ""))
		parts = append(parts, text[begin:end[1]])
	}
	return parts
}
