package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaSent is what `aea send` prints.
type aeaSent struct {
	Status string    `json:"status"` // sent
	ID     string    `json:"message_id"`
	File   string    `json:"file"`
	From   aea.Agent `json:"from"`
	To     aea.Agent `json:"to"`
}

// aeaFlags holds the flags of `aea send`.
type aeaFlags struct {
	to, path, kind, priority, subject, body, context, thread, reply, descriptor string
	tags                                                                        []string
	wanted, allow                                                               bool
}

// secretDetected is the beginning of the error that refuses a message with a credential.
const secretDetected = "SECRET_DETECTED"

func (a *app) aeaSend(dir *string) *cobra.Command {
	var f aeaFlags
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send a message to the agent of another repository",
		Long: `Write a message into the .aea directory of another repository. --to-path may be
left out for an agent that is enabled here or stands in AEA's own registry,
~/.config/aea/agents.yaml.

A message with a credential of a known shape is refused, with the code
SECRET_DETECTED. No sidecar is needed, and none is started. Exit code 0 means
that the file is there; what becomes of it there is in that repository's
agent.log, and an answer comes as a file here.`,
		Example: `  intercom aea send --to claude-other --to-path /src/other --type question \
    --priority normal --subject 'Pool size?' --message 'Which one for 10k/s?'`,
		Args: between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaSent, error) {
			return a.sendLetter(cmd, *dir, f)
		}, a.showLetterSent),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "`AGENT` that gets it: its id")
	flags.StringVar(&f.path, "to-path", "", "absolute `PATH` of its repository")
	flags.StringVar(&f.kind, "type", "", "`TYPE`: question, update, issue, handoff or request")
	flags.StringVar(&f.priority, "priority", "normal", "`PRIORITY`: low, normal, high or urgent")
	flags.StringVar(&f.subject, "subject", "", "`TEXT` of one line that says what it is about")
	flags.StringVar(&f.body, "message", "", "`TEXT` of the message; - reads standard input")
	flags.StringVar(&f.context, "context", "", "further data: a `JSON` object")
	flags.StringVar(&f.thread, "conversation", "", "`ID` of the conversation; else that of the message begins one")
	flags.StringVar(&f.reply, "reply-to", "", "`ID` of the message that this one answers")
	flags.StringArrayVar(&f.tags, "tag", nil, "`TAG`; may be repeated")
	flags.BoolVar(&f.wanted, "requires-response", false, "whether you want an answer; else the type says it")
	flags.StringVar(&f.descriptor, "descriptor", "", "`WORD` at the end of the file's name")
	flags.BoolVar(&f.allow, "allow-secret", false, "send it although it has a credential")
	kinds := slices.DeleteFunc(aea.Types(), func(kind string) bool { return kind == "response" })
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions(aea.Priorities(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("to", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.agentWords(), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.MarkFlagDirname("to-path")
	return cmd
}

// sendLetter writes one message.
func (a *app) sendLetter(cmd *cobra.Command, dir string, f aeaFlags) (r aeaSent, err error) {
	for _, name := range []string{"to", "type", "subject", "message"} {
		if strings.TrimSpace(cmd.Flags().Lookup(name).Value.String()) == "" {
			return r, api.Errorf(api.CodeUsage, "--%s is missing", name).WithHint("%s --help", cmd.CommandPath())
		}
	}
	if f.body == "-" {
		if f.body, err = a.textOf(cmd.Context(), nil, "-"); err != nil {
			return r, err
		}
	}
	m := aea.Message{
		ID: uuid.NewString(), Type: f.kind, Priority: f.priority, Time: time.Now(), Subject: f.subject, Body: f.body, Thread: f.thread, ReplyTo: f.reply, Tags: f.tags,
	}
	if m.Priority == "medium" {
		m.Priority = "normal"
	}
	if cmd.Flags().Changed("requires-response") {
		m.Wanted = &f.wanted
	}
	if f.context != "" {
		m.Context = json.RawMessage(f.context)
	}
	from, here, err := a.writer(cmd.Context(), dir)
	if err != nil {
		return r, err
	}
	to, err := a.reader(f)
	if err != nil {
		return r, err
	}
	m.From, m.To = from, aea.Agent{ID: f.to, Path: to.Path}
	if err := m.Check(); err != nil {
		return r, aeaError(err)
	}
	if own := to.Own().ID; to.Path == from.Path && f.to != own && aea.CleanID(f.to) != own {
		return r, api.Errorf(api.CodeUsage, "the agent of this repository is %q, not %q: nobody would get the message", own, f.to).
			WithHint("--to %s sends it to this repository; --to-path PATH names another", own)
	}
	if f.path != "" {
		a.warnOther(to, f.to)
	}
	if secret := m.Secret(); secret != "" && !f.allow {
		if here.Path != "" {
			_ = here.Log(m.Time, "Refused", "message to "+m.To.ID, secretDetected)
		}
		return r, api.Errorf(api.CodeRefused, "%s: the message has %s", secretDetected, secret).WithHint("take it out; --allow-secret sends it as it is")
	}
	if n := utf8.RuneCountInString(m.Subject); n > aea.LongSubject {
		a.warn(fmt.Sprintf("the subject has %d characters; more than %d are hard to scan", n, aea.LongSubject))
	}
	if list, err := a.enabled(); err == nil && here.Path != "" {
		// Before anybody can see the message: its answer may come even if this process ends now. The log has a second
		// record, since the sandbox of an agent may not let it write here.
		_ = list.NoteSent(here.Path, m.ID)
	}
	name, err := to.Put(m, f.descriptor)
	if err != nil {
		return r, aeaError(err)
	}
	if list, err := a.enabled(); err == nil {
		if _, enabled := list.Find(to.Path); !enabled {
			a.note("%q is not enabled on this computer: no sidecar processes the message; intercom aea install%s enables it", to.Path, inRepository(to.Path))
		} else if _, known := list.Find(from.Path); !known && from.Path != to.Path {
			a.note("%q is not enabled on this computer, so no answer can come there, and a sidecar gives the message to no agent; intercom aea install%s enables it", from.Path, inRepository(from.Path))
		}
	}
	if here.Path != "" {
		if err := here.Log(m.Time, "Sent", m.ID, fmt.Sprintf("%s (%s) %s", m.To.ID, m.To.Path, name)); err != nil {
			a.warn(err.Error())
		}
	}
	return aeaSent{"sent", m.ID, to.File(name), m.From, m.To}, nil
}

// writer returns the agent that a message is from, and the .aea directory of its repository, if there is one. A
// repository without .aea that lies in another one sends as the agent of the other: aea check shows that agent's
// messages there.
func (a *app) writer(ctx context.Context, dir string) (aea.Agent, repository.Dir, error) {
	whole, err := directoryOf(dir)
	if err != nil {
		return aea.Agent{}, repository.Dir{}, err
	}
	root := cmp.Or(repository.Nearest(whole, ".aea"), repository.Of(whole), whole)
	if err := a.worksIn(ctx, root, "send from"); err != nil {
		return aea.Agent{}, repository.Dir{}, err
	}
	from := aea.Agent{ID: aea.CleanID("claude-" + filepath.Base(root)), Path: root}
	d, err := repository.Open(root)
	if err != nil {
		d = repository.Dir{}
	} else {
		from = d.Own()
	}
	if u, err := user.Current(); err == nil {
		from.User = u.Username
	}
	return from, d, nil
}

// reader returns the repository that a message is for.
func (a *app) reader(f aeaFlags) (repository.Dir, error) {
	path := f.path
	if path == "" {
		var err error
		if path, err = a.repositoryOf(f.to); err != nil {
			return repository.Dir{}, err
		}
	}
	d, err := repository.Open(path)
	if err != nil && a.Agent == nil && !filepath.IsAbs(path) { // an agent that asks over MCP does not share our current directory
		if whole, failed := filepath.Abs(path); failed == nil {
			return d, api.Errorf(api.CodeNotFound, "%w", err).WithHint("--to-path %s", plaintext.ShellWord(whole))
		}
	}
	if err == nil && a.Agent != nil {
		err = a.enabledOnly(d.Path)
	}
	return d, aeaError(err)
}

// repositoryOf returns the repository in which an agent works: the one that AEA's registry has, where a name stays with
// the first that took it, else the one that a person has enabled. It returns a repository that is gone only if no other
// has an agent of that name.
func (a *app) repositoryOf(agent string) (string, error) {
	var gone string
	if one, ok := (repository.Registry{Path: repository.RegistryPath(a.Getenv)}).Find(agent); ok {
		if _, err := repository.Open(one.Path); err == nil {
			return one.Path, nil
		}
		gone = one.Path
	}
	list, err := a.enabled()
	if err != nil {
		return "", err
	}
	wishes, err := list.List()
	if err != nil {
		return "", err
	}
	var there []string
	for _, w := range wishes {
		if w.Agent != agent {
			continue
		}
		if _, err := repository.Open(w.Path); err == nil {
			there = append(there, w.Path)
		} else {
			gone = w.Path
		}
	}
	switch {
	case len(there) == 1:
		return there[0], nil
	case len(there) > 1:
		return "", api.Errorf(api.CodeUsage, "agent %q is that of %d repositories: %s", agent, len(there), strings.Join(there, ", ")).WithHint("name the one that is meant: --to-path PATH")
	case gone != "":
		return gone, nil
	}
	return "", api.Errorf(api.CodeNotFound, "no repository of agent %q is known", agent).WithHint("name it: --to-path PATH")
}

// warnOther warns if id is not the id of the repository's agent, according to the repository, unless AEA's registry has
// it so. The message goes there all the same: it was written for that path, and nobody else reads it there.
func (a *app) warnOther(d repository.Dir, id string) {
	c, err := repository.Read(d.Path)
	own := d.Own().ID
	if err != nil || c.Said.Agent == "" || id == own || aea.CleanID(id) == own {
		return // a configuration that cannot be read does not name its agent
	}
	if one, ok := (repository.Registry{Path: repository.RegistryPath(a.Getenv)}).Find(id); ok && one.Path == d.Path {
		return
	}
	a.warn(fmt.Sprintf("the agent of repository %q is %q, not %q; the message is sent there anyway. Use --to %s next time", d.Path, own, id, own))
}

// agentWords returns completions for the agents in AEA's registry.
func (a *app) agentWords() []cobra.Completion {
	found := []cobra.Completion{}
	all, _ := repository.Registry{Path: repository.RegistryPath(a.Getenv)}.List()
	for _, one := range all {
		found = append(found, cobra.CompletionWithDesc(plainLine(one.ID), plainLine(one.Path)))
	}
	return found
}
