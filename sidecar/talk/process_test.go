package talk

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roleVar says what this program does when a test starts it again as another process.
const roleVar = "INTERCOM_TEST_TALK"

// play acts that role: keeper DIR CLAIMS keeps ports until its standard input ends.
func play() int {
	words := strings.Split(os.Getenv(roleVar), " ")
	k := &Keeper{Home: Home{Dir: words[1], Claims: words[2]}, Log: discard, every: 20 * time.Millisecond}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = k.Look(ctx)
		fmt.Println("looked")
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	_ = k.Run(ctx)
	return 0
}

// process is a keeper in a process of its own.
type process struct {
	*exec.Cmd
	in io.Closer
}

// another starts a keeper in another process, and returns when that has looked once.
func (p *person) another(wrap ...string) *process {
	p.t.Helper()
	args := append(wrap, os.Args[0])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), roleVar+"=keeper "+p.Dir+" "+p.Claims)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	one := &process{cmd, in}
	p.t.Cleanup(one.kill)
	_, _ = bufio.NewReader(out).ReadString('\n')
	return one
}

func (p *process) kill() {
	_ = p.Process.Kill()
	p.in.Close() // after the kill: a keeper whose input ends would end in order
	_ = p.Wait()
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, p.Process.Signal(s))
}

// untilStopped waits until a process that got SIGSTOP has stopped.
func (p *process) untilStopped(t *testing.T) {
	t.Helper()
	until(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			t.Skip("this system does not tell whether a process is stopped")
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(rest, "T")
	}, "it stops")
}
