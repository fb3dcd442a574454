package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// labWays are scripts that start an agent with the arguments that they got. PROGRAM is the agent, and DIR has it as
// an npm package named KIND.
var labWays = []struct{ name, needs, script string }{
	{"npx", "npx", `exec npx --no --offline --prefix DIR KIND "$@"`},
	{"shells", "bash", `sh -c 'bash -c "PROGRAM \"\$@\"; printf over\$\ ; cat" bash "$@"; true' sh "$@"`},
	{"wrappers", "nice", `nice -n 1 DIR/wrapper "$@"` + "\nexit"},
}

// startedBy starts an agent by one of these scripts.
func (l *labRig) startedBy(kind labtest.Kind, name, script string, options ...labtest.Option) *labAgent {
	l.Helper()
	return l.agent(kind, append([]labtest.Option{labtest.Name(name), labtest.Wrapped(func(program string) string {
		dir := filepath.Join(l.dir, name)
		bin := filepath.Join(dir, "node_modules", ".bin")
		require.NoError(l, os.MkdirAll(bin, 0o700))
		packaged := program
		if install, err := kind.Installed(); err == nil { // the script of the package, where there is one
			if file := filepath.Join(install, "node_modules", ".bin", string(kind)); exec.Command("test", "-e", file).Run() == nil {
				packaged = file
			}
		}
		require.NoError(l, os.Symlink(packaged, filepath.Join(bin, string(kind))))
		fill := strings.NewReplacer("PROGRAM", program, "DIR", dir, "KIND", string(kind))
		tmuxtest.Program(l, filepath.Join(dir, "wrapper"), fill.Replace("#!/bin/sh\nPROGRAM \"$@\"\nexit\n"))
		path := filepath.Join(dir, "start")
		tmuxtest.Program(l, path, "#!/bin/sh\n"+fill.Replace(script)+"\n")
		return path
	})}, options...)...)
}

// Real agents get their messages behind the programs that start them. An editor that they open still holds a message,
// and the shell that goes on when they have ended gets nothing.
func TestLab_S30_AgentsBehindTheirStarters(t *testing.T) {
	eachOf(t, []labtest.Kind{labtest.Claude, labtest.Codex}, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		for _, way := range labWays {
			l.Run(way.name, func(t *testing.T) {
				need(t, way.needs)
				a := l.startedBy(kind, way.name, way.script, labtest.Environ("EDITOR=vim", "VISUAL=vim"))
				session, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane, Name: way.name})
				require.NoError(t, err)
				assert.Equal(t, string(kind), session.Foreground.Name, "the agent itself")
				l.waitTold(l.mail(a, "hello by "+way.name), a, "submitted")
				a.WaitForText("hello by " + way.name)
				a.WaitForIdle()
				if way.name != "shells" {
					return
				}
				need(t, "vim")
				a.Keys("C-g")
				a.WaitForText("~")
				id := l.mail(a, "behind the editor")
				l.waitTold(id, a, "held: another program is in front")
				a.Keys("-l", ":q!")
				a.Keys("Enter")
				l.waitTold(id, a, "submitted")
				a.WaitForIdle()

				gone := l.mail(a, "one more [[hold]]")
				l.waitTold(gone, a, "submitted")
				id = l.mail(a, "for nobody | touch touched")
				l.waitTold(id, a, "held")
				require.NoError(t, syscall.Kill(session.Foreground.PID, syscall.SIGKILL))
				l.waitTold(id, a, "failed: agent gone")
				a.WaitForText("over$")
				assert.NotContains(t, l.rig.Run("capture-pane", "-p", "-t", a.Pane), "for nobody")
			})
		}
		l.Run("pid namespace", func(t *testing.T) {
			if exec.Command("unshare", "-r", "-p", "-f", "--mount-proc", "true").Run() != nil {
				t.Skip("no namespaces here: allow unprivileged user namespaces, or run as root")
			}
			a := l.startedBy(kind, "away", `unshare -r -p -f --mount-proc PROGRAM "$@"`)
			_, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane})
			require.ErrorContains(t, err, "pid namespace of its own")
		})
	})
}

// killGroup kills an agent with its process group: some agents are two processes.
func killGroup(t testing.TB, pid int) {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(-group, syscall.SIGKILL))
}
