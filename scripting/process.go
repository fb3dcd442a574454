package scripting

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

// process is one worker. One call at a time may use it.
type process struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	lines *bufio.Reader
	said  *beginning
	ended chan struct{} // closed once the worker has ended and has been reaped

	asked time.Time     // when the current request was sent
	used  time.Duration // processor time at its last reply
}

// start starts a worker with no descriptors but its pipes, and without an environment.
func start(command []string) (*process, error) {
	fromHere, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the policy worker: %w", err)
	}
	defer fromHere.Close()
	out, toHere, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("starting the policy worker: %w", err)
	}
	defer toHere.Close()
	p := &process{in: in, out: out, lines: bufio.NewReader(out), said: &beginning{}, ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = []string{} // nil would be ours
	p.cmd.Dir = "/"
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = fromHere, toHere, p.said
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = apart()
	started := make(chan error)
	go func() {
		// The kernel kills the worker when the thread that started it ends, so this goroutine keeps its thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if started <- err; err != nil {
			return
		}
		_ = p.cmd.Wait() // the output and the state of the worker say why it ended
		close(p.ended)
	}()
	if err := <-started; err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("starting the policy worker: %w", err)
	}
	return p, nil
}

// ask sends a request and waits for its reply. It calls running for each announcement of the worker in between; running
// returns the new deadline. After a failure the worker is gone, unless the request was never sent. That failure has the
// kind policy.NoWorker, as has the end of a worker that was not at fault.
func (p *process) ask(q wire.Request, blobs [][]byte, until time.Time, running func(wire.Running) time.Time) (wire.Reply, [][]byte, *policy.Failure) {
	p.asked = time.Now()
	_ = p.in.SetWriteDeadline(until)
	switch err := wire.Write(p.in, &q, blobs); {
	case errors.Is(err, wire.ErrUnsent): // the fault is in our request
		return wire.Reply{}, nil, &policy.Failure{Kind: policy.NoWorker, Text: "asking the policy worker: " + err.Error()}
	case err != nil:
		return wire.Reply{}, nil, p.gone(err)
	}
	for {
		_ = p.out.SetReadDeadline(until)
		reply, texts, err := wire.ReadReply(p.lines)
		switch {
		case err != nil:
			return wire.Reply{}, nil, p.gone(err)
		case reply.Running != nil:
			until = running(*reply.Running)
		case reply.Error != "":
			return wire.Reply{}, nil, p.gone(errors.New(reply.Error))
		default:
			p.used = reply.Used
			return reply, texts, nil
		}
	}
}

// starved sets a threshold: a worker that misses its deadline and got less than this fraction (one eighth) of the time
// on a processor was kept from answering by a busy computer. A worker that computes gets more, even among a dozen other
// processes.
const starved = 8

// gone ends a worker that misbehaved, and returns what happened.
func (p *process) gone(err error) *policy.Failure {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		waited := time.Since(p.asked)
		p.kill()
		if state := p.cmd.ProcessState; state != nil && state.UserTime()+state.SystemTime()-p.used < waited/starved {
			return &policy.Failure{Kind: policy.NoWorker, Text: "this computer was too busy for the policy worker, which was killed"}
		}
		return &policy.Failure{Kind: policy.Killed, Text: "the policy worker did not answer in time, and was killed"}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, errPipe) {
		select { // it may still be writing the reason
		case <-p.ended:
		case <-time.After(100 * time.Millisecond):
		}
		p.kill()
		return &policy.Failure{Kind: policy.Died, Text: "the policy worker ended: " + p.why()}
	}
	p.kill()
	return &policy.Failure{Kind: policy.Died, Text: "the policy worker answered nonsense: " + err.Error()}
}

// why returns the reason why a worker ended: the first words of the Go runtime, or the state of the process.
func (p *process) why() string {
	said := p.said.String()
	for line := range strings.Lines(said) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "fatal error: "); ok {
			return reason
		}
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); first != "" {
		return first
	}
	if p.cmd.ProcessState == nil {
		return "killed"
	}
	return p.cmd.ProcessState.String()
}

// over reports whether a worker has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill ends the worker at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.in.Close()
	p.out.Close()
}

// close ends the worker by closing its input, and kills it if it has not ended after 200 ms.
func (p *process) close() {
	p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(200 * time.Millisecond):
	}
	p.kill()
}

// beginning keeps the first maxBeginning bytes that are written to it.
type beginning struct {
	mu   sync.Mutex
	text []byte
}

const maxBeginning = 8 << 10

func (b *beginning) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, text[:min(len(text), maxBeginning-len(b.text))]...)
	return len(text), nil
}

func (b *beginning) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
