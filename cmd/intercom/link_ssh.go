package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tunnel"
)

// linkSSHState is what `link ssh --json` prints, a line for each change.
type linkSSHState struct {
	Host string `json:"host"`
	tunnel.State
}

func (a *app) linkSSH() *cobra.Command {
	var name, program, ssh string
	var flags []string
	cmd := &cobra.Command{
		Use:   "ssh HOST",
		Short: "Link this computer with another one over your own ssh",
		Long: `Link this computer with HOST over your own ssh, and stay: the link lasts as long
as this command runs. When the connection is lost, it is made again.

HOST needs intercom and intercom-hub in its PATH, and a login without a
password. The hub is started there, for that computer alone; this one reaches it
through a socket that ssh forwards, with a key of its own:

  ssh HOST intercom-hub revoke NAME

takes that key away. The first run joins both computers, as link join does.`,
		Example: `  intercom link ssh raspi.local
  intercom link ssh -o Port=2222 me@raspi.local`,
		Args: between(1, 1, "a host, as ssh takes it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if strings.HasPrefix(args[0], "-") || strings.ContainsAny(args[0], " \t\n") {
				return api.Errorf(api.CodeUsage, "%q is not a host", args[0]).WithHint("intercom link ssh raspi.local")
			}
			if !programWord().MatchString(program) {
				return api.Errorf(api.CodeUsage, "--program %q: not the path of a program", program).WithHint("--program /usr/local/bin/intercom")
			}
			token, err := link.Token(name)
			if err != nil {
				return api.Errorf(api.CodeUsage, "--name: %w", err).WithHint("1 to 64 of a-z 0-9 _ -, for example laptop")
			}
			found, err := process.Find(ssh)
			if err != nil {
				return api.Errorf(api.CodeFailed, "no program %q", ssh).WithHint("install the client of OpenSSH")
			}
			s := tunnel.SSH{Program: found, Host: args[0]}
			for _, f := range flags {
				s.Flags = append(s.Flags, "-o", f)
			}
			return a.keepSSH(cmd.Context(), s, token, program)
		},
	}
	cmd.Flags().StringVar(&name, "name", ownName(), "`NAME` of this computer")
	cmd.Flags().StringVar(&program, "program", "intercom", "`PATH` of intercom on HOST")
	cmd.Flags().StringVar(&ssh, "ssh", "ssh", "`PROGRAM` that is ssh")
	cmd.Flags().StringArrayVarP(&flags, "option", "o", nil, "`OPTION` for ssh, as its -o takes it; may be repeated")
	return cmd
}

var programWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9~./][A-Za-z0-9._/+~-]*$`) })

// keepSSH links this computer with another one, and keeps the link up.
func (a *app) keepSSH(ctx context.Context, s tunnel.SSH, name, program string) error {
	state, err := a.stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return api.Errorf(api.CodeFailed, "%w", err)
	}
	socket := filepath.Join(state, "link.sock")
	if err := tunnel.Check(socket); err != nil {
		return api.Errorf(api.CodeFailed, "%w", err).WithHint("set XDG_STATE_HOME to a shorter one")
	}
	mine, err := claim.Take(socket + ".lock")
	if errors.Is(err, claim.ErrHeld) { // ssh would take the socket away from it
		return api.Errorf(api.CodeFailed, "another intercom link ssh runs on this computer").
			WithHint("it keeps the link; end it before you start another one")
	}
	if err != nil {
		return api.Errorf(api.CodeFailed, "%w", err)
	}
	defer mine.Release()
	joined, err := a.joinedBy(s.Host)
	if err != nil {
		return err
	}
	config, err := a.configDir()
	if err != nil {
		return err
	}
	// On the first run everything has to work at once, and an error is reported rather than retried.
	if !joined {
		end, err := a.askEnd(ctx, s, program, name, true)
		if err != nil {
			return err
		}
		i, err := hub.ParseInvitation(end.Token)
		if err != nil {
			return api.Errorf(api.CodeFailed, "%s: %w", s.Host, err)
		}
		i.URL = (&url.URL{Scheme: "unix", Path: socket}).String()
		r, err := a.join(i, sshRemark(s.Host, name))
		if err != nil {
			return err
		}
		a.note("linked as %s with %s, which is %s", r.Computer, s.Host, end.Computer)
		a.noteSetting(r)
		a.note("to undo it: ssh %s intercom-hub revoke %s", s.Host, r.Computer)
	}
	t := tunnel.Tunnel{SSH: s, Socket: socket, Port: func(ctx context.Context) (int, error) {
		name := name
		if kept, err := a.sshName(); err == nil && kept != "" {
			name = kept
		}
		end, err := a.askEnd(ctx, s, program, name, false)
		if err != nil {
			return 0, err
		}
		if !end.Access {
			return 0, &tunnel.FinalError{Err: api.Errorf(api.CodeFailed, "%s gives %s no access any more", s.Host, name).
				WithHint("to link again: rm %s, then intercom link ssh %s", a.tilde(filepath.Join(config, credsFile)), s.Host)}
		}
		return end.Port, nil
	}, Tell: func(st tunnel.State) {
		switch {
		case a.json:
			_ = json.NewEncoder(a.Stdout).Encode(linkSSHState{s.Host, st})
		case st.Up:
			a.say("%s linked with %s", time.Now().Format("15:04:05"), s.Host)
		default:
			a.say("%s not linked with %s: %s; again in %s", time.Now().Format("15:04:05"), s.Host, plainLine(st.Why), message.ShowDuration(st.Again))
		}
	}}
	return t.Run(ctx)
}

// sshRemark returns the line before credentials that came by ssh.
func sshRemark(host, name string) string { return "# intercom link ssh " + host + " " + name + "\n" }

// joinedBy reports whether this computer has joined that host by ssh. It is an error if this computer has joined
// another way.
func (a *app) joinedBy(host string) (bool, error) {
	config, err := a.configDir()
	if err != nil {
		return false, err
	}
	path := filepath.Join(config, credsFile)
	text, err := own.Read(path, maxCredentials)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, api.Errorf(api.CodeFailed, "%w", err)
	}
	if strings.HasPrefix(string(text), sshRemark(host, "")[:len(sshRemark(host, ""))-1]) {
		return true, nil
	}
	return false, api.Errorf(api.CodeFailed, "this computer has joined another way: %s is there", path).WithHint("to join again, remove it first: rm %s", a.tilde(path))
}

// sshName returns the name under which this computer has joined by ssh.
func (a *app) sshName() (string, error) {
	config, err := a.configDir()
	if err != nil {
		return "", err
	}
	text, err := own.Read(filepath.Join(config, credsFile), maxCredentials)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(line)
	if len(words) == 6 && words[0] == "#" {
		return words[5], nil
	}
	return "", nil
}

// linkEndReply is what the computer with the hub tells the other one.
type linkEndReply struct {
	Computer string `json:"computer"` // name of the computer with the hub
	Port     int    `json:"port"`     // of its hub, on loopback
	Access   bool   `json:"access"`   // the other computer has access
	Token    string `json:"token,omitempty"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// askEnd runs `link end` on the other computer, and returns its reply.
func (a *app) askEnd(ctx context.Context, s tunnel.SSH, program, name string, fresh bool) (r linkEndReply, err error) {
	words := []string{program, "link", "end", name, "--json"}
	if fresh {
		words = append(words, "--new")
	}
	out, err := s.Run(ctx, words...)
	if err != nil {
		hint := "try ssh " + s.Host + " true: it must work without a question"
		if text := err.Error(); strings.Contains(text, "not found") || strings.Contains(text, "No such file") || strings.Contains(text, "exit status 127") {
			hint = "install intercom and intercom-hub there, or name them: --program /usr/local/bin/intercom"
		}
		return r, api.Errorf(api.CodeFailed, "%s: %w", s.Host, err).WithHint("%s", hint)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return r, api.Errorf(api.CodeFailed, "%s: its intercom answers %.100q", s.Host, out).WithHint("install the same version there, and make its shell print nothing at login")
	}
	if r.Error != "" {
		return r, api.Errorf(api.CodeFailed, "%s: %s", s.Host, r.Error).WithHint("%s", r.Hint)
	}
	return r, nil
}

func (a *app) linkEnd(dir *string) *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use:    "end NAME",
		Short:  "Be the end of a link that another computer begins by ssh",
		Hidden: true,
		Long: `Start the hub of this computer, if it does not run, for this computer alone, and
say where it is. intercom link ssh runs this on the other computer.`,
		Example: `  intercom link end laptop --json`,
		Args:    between(1, 1, "the name of the other computer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			r, err := a.end(cmd.Context(), *dir, args[0], fresh)
			if err != nil { // anybody may write to the stderr of ssh, so the error goes into the reply
				told := api.AsError(err)
				r.Error, r.Hint = told.Text, told.Hint
			}
			return a.printJSON(r)
		},
	}
	cmd.Flags().BoolVar(&fresh, "new", false, "give it access")
	return cmd
}

func (a *app) end(ctx context.Context, dir, name string, fresh bool) (r linkEndReply, err error) {
	h, err := a.hubHere(dir)
	if err != nil {
		return r, err
	}
	s, err := a.startHub(ctx, h)
	if err != nil {
		return r, err
	}
	u, err := url.Parse(s.Here())
	if err != nil {
		return r, err
	}
	if r.Port, err = strconv.Atoi(u.Port()); err != nil {
		return r, err
	}
	r.Computer = ownName()
	if _, err := a.joinOwn(h, s); err != nil {
		return r, err
	}
	if fresh {
		i, err := invite(h, name, s.Here())
		if err != nil {
			return r, err
		}
		r.Token = i.String()
	}
	if err := applied(ctx, h); err != nil {
		return r, err
	}
	book, err := h.Book()
	for _, c := range book.Computers {
		r.Access = r.Access || c.Name == name
	}
	return r, err
}

const hubStarts = 30 * time.Second

// startHub starts the hub, unless it runs, on the loopback address on which it last listened. Without such an address
// it takes the usual port, or any port if that is taken.
func (a *app) startHub(ctx context.Context, h hub.Hub) (hub.Serving, error) {
	before, runs, err := h.Serving()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return before, api.Errorf(api.CodeFailed, "%w", err)
	case runs:
		return before, nil
	case before.Listen != "" && hub.Loopback(before.Listen):
		return a.hubAt(ctx, h, before)
	}
	before.Listen = "127.0.0.1:4222"
	s, err := a.hubAt(ctx, h, before)
	if err != nil {
		before.Listen = "127.0.0.1:0"
		s, err = a.hubAt(ctx, h, before)
	}
	return s, err
}

// hubAt starts a hub that outlives us, and returns once it serves.
func (a *app) hubAt(ctx context.Context, h hub.Hub, before hub.Serving) (hub.Serving, error) {
	program, err := a.hubProgram()
	if err != nil {
		return before, err
	}
	log, err := own.OpenFile(filepath.Join(h.Dir(), "log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return before, api.Errorf(api.CodeFailed, "%w", err)
	}
	defer log.Close()
	inheritNothing()
	cmd := &exec.Cmd{
		Path: program, Args: []string{program, "--dir", h.Dir(), "--listen", before.Listen}, Env: a.inherited(), Dir: "/",
		Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return before, api.Errorf(api.CodeFailed, "%w", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	ctx, cancel := context.WithTimeout(ctx, hubStarts)
	defer cancel()
	for why := ""; ; {
		// A hub that somebody else has started at the same time is as good.
		if s, runs, err := h.Serving(); err == nil && runs && s.PID != before.PID {
			return s, nil
		}
		if why != "" {
			return before, api.Errorf(api.CodeFailed, "intercom-hub %s", why).WithHint("its log may say why: %s", filepath.Join(h.Dir(), "log"))
		}
		select {
		case <-ended:
			why = "ended at once"
		case <-ctx.Done():
			why = "does not become ready"
		case <-time.After(startPause):
		}
	}
}

// hubProgram returns the path of the hub's program: beside ours, else the first in PATH.
func (a *app) hubProgram() (string, error) {
	if self, err := a.program(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "intercom-hub")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	found, err := process.Find("intercom-hub")
	if err != nil {
		return "", api.Errorf(api.CodeFailed, "there is no intercom-hub here").WithHint("%s", "install it beside intercom: make install does")
	}
	return found, nil
}
