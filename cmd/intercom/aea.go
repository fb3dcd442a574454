package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

func (a *app) aea() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "aea",
		Short: "Messages between agents of different repositories (AEA)",
		Long: `Send messages to the agents of other repositories, and process those that came,
by the AEA protocol: a message is a JSON file in the .aea directory of its
recipient's repository.

Every command prints JSON, but to a terminal, without --json, text. All but
approve, reject, resume and monitor work without a sidecar.
.aea/agent-config.yaml and your policies decide what becomes of a message;
intercom policy explain --all shows it.`,
		Example: `  intercom aea install
  intercom aea send --to claude-other --type question --subject S --message TEXT
  intercom aea check`,
		Args: a.onlyCommands, RunE: showHelp,
	}
	cmd.PersistentFlags().StringVar(&dir, "repository", "", "`DIR` in the repository (default: the current one)")
	cmd.AddCommand(
		a.aeaInstall(&dir), a.aeaDisable(&dir), a.aeaSend(&dir), a.aeaCheck(&dir), a.aeaList(&dir), a.aeaShow(&dir), a.aeaDone(&dir), a.aeaApprovals(&dir), a.aeaApprove(), a.aeaReject(), a.aeaResume(),
		a.aeaMonitor(&dir), a.aeaThread(&dir), a.aeaArchive(&dir), a.aeaDoctor(&dir), a.aeaVersion(),
	)
	_ = cmd.MarkPersistentFlagDirname("repository")
	return cmd
}

// directoryOf returns the absolute path of dir, the value of --repository, with links resolved; "" means the current
// directory.
func directoryOf(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	whole, err := filepath.Abs(dir)
	if err == nil {
		var linked string
		if linked, err = filepath.EvalSymlinks(whole); err == nil {
			whole = linked
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", api.Errorf(api.CodeNotFound, "directory %q: %s", whole, repository.NoDirectory).WithHint("give the path of a directory that is there")
	}
	if err != nil {
		return "", api.Errorf(api.CodeNotFound, "directory: %w", err)
	}
	return whole, nil
}

// repo opens the .aea directory of the repository that contains dir, the value of --repository; "" means the current
// directory.
func (a *app) repo(ctx context.Context, dir string) (repository.Dir, error) {
	whole, err := directoryOf(dir)
	if err != nil {
		return repository.Dir{}, err
	}
	root := repository.Nearest(whole, ".aea")
	if root == "" {
		return repository.Dir{}, api.Errorf(api.CodeNotFound, "%q is in no repository that has an .aea directory", whole).WithHint("intercom aea install%s makes one", about(dir, whole))
	}
	if err := a.worksIn(ctx, root, "read"); err != nil {
		return repository.Dir{}, err
	}
	d, err := repository.Open(root)
	return d, aeaError(err)
}

// worksIn refuses a repository to an agent that asks over MCP and does not work in it. A person who enables a
// repository lets other agents write to it, but not read it or speak for it. The agent's own sandbox does not restrict
// the program that serves its tools.
func (a *app) worksIn(ctx context.Context, root, what string) error {
	if a.Agent == nil || anyIn(a.workplaces(ctx), root) {
		return nil
	}
	return api.Errorf(api.CodeRefused, "%s repository %q: an agent may only use the one in which it works", what, root).WithHint("leave repository out")
}

// workplaces returns the directories in which the agent that asks over MCP works: that of its MCP server, and its own
// if a sidecar knows the agent.
func (a *app) workplaces(ctx context.Context) (dirs []string) {
	if here, err := directoryOf(""); err == nil {
		dirs = append(dirs, here)
	}
	if c, _, running, err := a.running(ctx); err == nil && running {
		who, err := quickly(ctx, c, api.Introduce, api.None{})
		if dir := process.WorkingDir(who.Session.Foreground.PID); err == nil && who.Verified() && dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// anyIn reports whether an agent that works in one of dirs works in the repository root.
func anyIn(dirs []string, root string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return dir == root || repository.Of(dir) == root })
}

// enabledOnly refuses a repository that no person has enabled.
func (a *app) enabledOnly(root string) error {
	list, err := a.enabled()
	if err != nil {
		return err
	}
	if _, ok := list.Find(root); !ok {
		return api.Errorf(api.CodeRefused, "write to repository %q: an agent may write only to those that a person has enabled", root).WithHint("a person enables it: intercom aea install --repository %s", plaintext.ShellWord(root))
	}
	return nil
}

// enabled returns the list of repositories that a person has enabled.
func (a *app) enabled() (repository.Enabled, error) {
	dir, err := a.stateDir()
	return repository.EnabledIn(dir), err
}

// aeaError gives an error about a repository's files its code and hint.
func aeaError(err error) error {
	if err == nil {
		return nil
	}
	if of, ok := errors.AsType[*repository.PathError](err); ok {
		if of.Why == repository.NoAEA {
			return api.Errorf(api.CodeNotFound, "%w", of).WithHint("intercom aea install --repository %s makes one", plaintext.ShellWord(of.Path))
		}
		if of.Why == repository.NoDirectory {
			return api.Errorf(api.CodeNotFound, "%w", of).WithHint("give the path of a directory that is there, and has .aea")
		}
		return api.Errorf(api.CodeNotFound, "%w", of).WithHint("give the absolute path of a directory that has .aea")
	}
	if of, ok := errors.AsType[*repository.AmbiguousError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of).WithHint("give the whole id")
	}
	if of, ok := errors.AsType[*aea.InvalidError](err); ok {
		return api.Errorf(api.CodeUsage, "%w", of)
	}
	if of, ok := errors.AsType[*foreign.TooManyError](err); ok {
		return api.Errorf(api.CodeFailed, "%w", of).WithHint("intercom aea archive --older-than 30d%s moves processed messages away; nothing is processed while there are so many", inRepository(holds(of.Path)))
	}
	if errors.Is(err, fs.ErrPermission) {
		of, failed := errors.AsType[*fs.PathError](err)
		if !failed || holds(of.Path) == "" {
			return err // not a file that aea doctor looks at
		}
		return api.Errorf(api.CodeFailed, "%w", err).WithHint("intercom aea doctor --fix%s", inRepository(holds(of.Path)))
	}
	if of, ok := errors.AsType[*foreign.NotOursError](err); ok {
		return api.Errorf(api.CodeRefused, "%w", of)
	}
	return err
}

// holds returns the repository in whose .aea directory file lies, or whose .aea directory it is; "" if there is none.
func holds(file string) string {
	if root := repository.Nearest(file, ".aea"); root != "" && strings.HasPrefix(file, filepath.Join(root, ".aea")) {
		return root
	}
	return ""
}

// about returns the --repository option for a command in a hint; "" if this command was given none.
func about(given, root string) string {
	if given == "" {
		return ""
	}
	return " --repository " + plaintext.ShellWord(root)
}

// inRepository returns the --repository option for a command in a hint; "" if the current directory is in root anyway.
func inRepository(root string) string {
	here, err := directoryOf("")
	if err == nil && repository.Nearest(here, ".aea") == root {
		return ""
	}
	return about(root, root)
}

// letters holds the fields of a message that a listing shows.
type letters struct {
	File      string `json:"file"` // path in the repository
	ID        string `json:"message_id,omitempty"`
	Type      string `json:"message_type,omitempty"`
	Priority  string `json:"priority,omitempty"`
	From      string `json:"from,omitempty"`
	FromPath  string `json:"from_path,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Time      string `json:"timestamp,omitempty"`
	Wanted    bool   `json:"requires_response,omitempty"`
	ReplyTo   string `json:"reply_to,omitempty"`
	Thread    string `json:"conversation_id,omitempty"`
	Processed bool   `json:"processed"`
	Approval  string `json:"awaiting_approval,omitempty"` // its ID for aea approve, while it awaits a person's approval
	InHand    bool   `json:"in_hand,omitempty"`           // a sidecar is processing it
	Invalid   string `json:"invalid,omitempty"`           // why it is not a valid message
}

func lettersOf(file string, m aea.Message) letters {
	l := letters{
		File: file, ID: m.ID, Type: m.Type, Priority: m.Priority, From: m.From.ID, FromPath: m.From.Path, Subject: m.Subject, Wanted: m.RequiresResponse(),
		ReplyTo: m.ReplyTo, Thread: m.Thread,
	}
	if !m.Time.IsZero() {
		l.Time = aea.Timestamp(m.Time)
	}
	return l
}

// sidecars returns clients for all running sidecars of this person, that of the caller's own tmux server first: a
// message that awaits approval may be in the journal of any of them.
func (a *app) sidecars(ctx context.Context) ([]*api.Client, error) {
	here, p, running, err := a.running(ctx)
	if err != nil {
		return nil, err
	}
	found := api.Sockets(p.Runtime)
	if own, err := api.Places(a.Getenv, ""); err == nil && own.Runtime != p.Runtime { // a sidecar has the environment of its tmux server, which may differ from ours
		found = append(found, api.Sockets(own.Runtime)...)
	}
	found = slices.DeleteFunc(found, func(socket string) bool { return socket == here.Socket })
	if running {
		found = slices.Insert(found, 0, here.Socket)
	}
	var all []*api.Client
	for _, socket := range found {
		c := &api.Client{Socket: socket, Key: a.Key, Agent: a.Agent}
		asking, cancel := within(ctx)
		err := c.Ping(asking)
		cancel()
		if err == nil {
			all = append(all, c)
		}
	}
	return all, nil
}
