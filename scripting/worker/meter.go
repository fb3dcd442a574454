package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// What a script may use. Instructions are counted, because on a loaded machine any time limit is too short. The time
// limit is only for scripts that are slow in few instructions. It is exceeded once both the clock and the processor
// time of this process exceed it.
const (
	hookInstructions = 200_000
	loadInstructions = 2_000_000
	hookTime         = 250 * time.Millisecond
	loadTime         = time.Second
)

// meter counts instructions. Before each instruction the Lua machine asks its context whether it is done, so a context
// can count them.
type meter struct {
	context.Context

	machine *lua.LState
	used    int
	limit   int
	total   int          // instructions of all earlier calls
	late    *atomic.Bool // whether the call took too long
	expired policy.Kind  // why the call was ended
	line    int          // where
	visit   func(int)    // called with the line of each instruction; nil except in tests of policies
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// begin starts the count of one call. The function that it returns ends it.
func (m *meter) begin(limit int, within time.Duration) func() {
	m.used, m.limit, m.expired, m.line = 0, limit, "", 0
	late, over := new(atomic.Bool), new(atomic.Bool)
	m.late = late
	end := processorTime() + within
	var look func()
	look = func() {
		switch left := end - processorTime(); {
		case over.Load():
		case left > 0:
			time.AfterFunc(left, look)
		default:
			late.Store(true)
		}
	}
	timer := time.AfterFunc(within, look)
	return func() {
		timer.Stop()
		over.Store(true)
		m.total += m.used
	}
}

// processorTime returns the processor time that this process has used since it began.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for bad arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Done is called before each instruction. If the channel is closed, the machine raises an error there, and again at
// each later instruction, so that no pcall survives it.
func (m *meter) Done() <-chan struct{} {
	m.used++
	if m.used <= m.limit && !m.late.Load() {
		if m.visit != nil {
			m.visit(line(m.machine, 0))
		}
		return nil
	}
	if m.expired == "" {
		m.expired = policy.Overtime
		if m.used > m.limit {
			m.expired = policy.Instructions
		}
		m.line = line(m.machine, 0)
	}
	return closed
}

// Err returns the error that is raised.
func (m *meter) Err() error { return fmt.Errorf("%s", m.text()) }

func (m *meter) text() string {
	if m.expired == policy.Instructions {
		return fmt.Sprintf("more than %s instructions", grouped(m.limit))
	}
	return "took too long"
}

// grouped formats a number with a comma at each thousand.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// line returns the current line of the function at a level of the stack, or 0 if it is not known.
func line(machine *lua.LState, level int) int {
	frame, ok := machine.GetStack(level)
	if !ok {
		return 0
	}
	if _, err := machine.GetInfo("Sl", frame, lua.LNil); err != nil || frame.CurrentLine < 0 {
		return 0
	}
	return frame.CurrentLine
}
