package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

const (
	// PolicyErrorOption is the option of the tmux server that says why the policies as saved are not in use:
	// file, line and reason. It can stand in a status line as it is.
	PolicyErrorOption = "@intercom-policy-error"
	// policyErrorWidth is the width to which that text is cut, in characters.
	policyErrorWidth = 80
	// holdAgain is the pause before settings are applied again after an error, for example if the journal could
	// not be read.
	holdAgain = 10 * time.Second
)

// Policies applies the settings of the policies in use, and reports the status of the policies.
type Policies struct {
	Callers *Callers
	Names   *Names
	Relay   interface {
		present
		NotifyOf(ctx context.Context, chat message.ID, text string) error
		Limit(ctx context.Context, limits relay.LimitsChanged) error
		CheckAfter(ctx context.Context, after time.Duration) error
		Reconsider(ctx context.Context, messages []message.Envelope) error
	}
	Journal interface {
		archive
		backlog
		messages
		verdicts
		Recent(ctx context.Context, most int) ([]journal.Decided, error)
	}
	Tmux      options    // nil: headless
	Elsewhere *Computers // nil: there are no other computers
	Bell      *Bell
	Log       *slog.Logger

	Set        *policyset.Live // nil: there are no policies
	configured chan struct{}   // signals that other policies are in use
}

// Begin brings policies into use. It sets the fields of o that concern the sidecar.
func (s *Policies) Begin(ctx context.Context, o policyset.Options) {
	s.configured = make(chan struct{}, 1)
	o.Workplaces, o.Dir, o.Check, o.Recent = s.workplaces, workingDir, checkSettings, s.recentQuestions
	if s.Elsewhere != nil {
		o.Enter = s.Elsewhere.entered
	}
	o.Used = func(policy.Settings) {
		select {
		case s.configured <- struct{}{}:
		default:
		}
	}
	o.Shown, o.Failed, o.Log, o.Now = s.shown, s.failed, s.Log.With("part", "policies"), now
	s.Set = policyset.New(o)
	s.Set.Begin(ctx)
}

// Limits returns the limits that the policies in use ask for.
func (s *Policies) Limits() relay.LimitsChanged {
	limits, err := limitsOf(s.Settings())
	if err != nil {
		s.Log.Warn("settings of the policies", "err", err) // they were checked
	}
	return limits
}

// Run applies the settings of each set of policies that comes into use, until ctx ends. It also has messages
// decided again that a filter failed at or could not be asked about.
func (s *Policies) Run(ctx context.Context) error {
	if s.Tmux != nil {
		defer s.Tmux.TakeBack(ctx, PolicyErrorOption)
	}
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.configured:
		case <-again:
		}
		again = nil
		limits, err := limitsOf(s.Set.Settings())
		if err != nil {
			s.Log.Warn("settings of the policies", "err", err) // they were checked
			continue
		}
		err = s.Relay.Limit(ctx, limits)
		if err == nil {
			err = s.Relay.CheckAfter(ctx, healthOf(s.Set.Settings()))
		}
		if err == nil {
			err = s.reconsider(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("settings of the policies", "err", err)
			again = time.After(holdAgain)
		}
	}
}

// reconsider has all messages decided again that a filter failed at. It reads the journal twice, to find the
// messages that became held during the first read: by then the relay knows that the policies have changed.
func (s *Policies) reconsider(ctx context.Context) error {
	known := map[message.ID]bool{}
	for range 2 {
		messages, err := s.unfiltered(ctx, known)
		if err == nil {
			err = s.Relay.Reconsider(ctx, messages)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfiltered returns the messages that a filter failed at and that are not in known, and adds them to known.
func (s *Policies) unfiltered(ctx context.Context, known map[message.ID]bool) (messages []message.Envelope, err error) {
	waiting, err := s.Journal.Waiting(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, one := range waiting {
		id := one.Delivery.Message.ID
		if one.Last.Hold != message.HoldFilter || known[id] {
			continue
		}
		m, err := s.Journal.Message(ctx, string(id)) // as it was received
		if err != nil {
			return nil, err
		}
		known[id], messages = true, append(messages, m)
	}
	return messages, nil
}

// CheckSettings returns an error if a sidecar would refuse these settings of init.lua.
func CheckSettings(settings policy.Settings) error {
	if err := policyset.CheckAttribution(settings.Attribution); err != nil {
		return err
	}
	return checkSettings(settings)
}

// checkSettings returns an error for settings of init.lua that make no sense.
func checkSettings(settings policy.Settings) error {
	limits, err := limitsOf(settings)
	switch {
	case err != nil:
		return err
	case limits.Chats.Approve != "" && limits.Chats.Approve != message.ApproveAll:
		return fmt.Errorf("chats: approve %q names participants; only %q is possible here", limits.Chats.Approve, message.ApproveAll)
	case checkHealth(settings.Health) != nil:
		return checkHealth(settings.Health)
	case settings.Computer != "" && registry.CheckName(settings.Computer) != nil:
		return fmt.Errorf("computer: %w", registry.CheckName(settings.Computer))
	}
	if err := LinkOf(settings).Check(); err != nil {
		return fmt.Errorf("computer: %w", err)
	}
	for name, fields := range settings.Profiles {
		p, ok := profile.Known(name)
		if !ok {
			return fmt.Errorf("profiles: no profile %q", name)
		}
		if _, err := p.With(fields); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
	}
	if err := checkCommands(settings.Deliver.BareSlash); err != nil {
		return fmt.Errorf("deliver.bare_slash: %w", err)
	}
	return checkSessions(settings.Sessions)
}

// checkCommands refuses names that cannot be commands of a person's own.
func checkCommands(names []string) error {
	for _, name := range names {
		if err := message.CheckCommand(name); err != nil {
			return err
		}
		if a, ok := profile.OwnCommand(name); ok {
			return fmt.Errorf("%q is a command of %s itself: only those that you keep in files can be named", name, a.Title)
		}
	}
	return nil
}

// LinkOf returns the configuration with which this computer reaches others. A path of credentials may begin
// with ~.
func LinkOf(s policy.Settings) link.Config {
	c := link.Config{Name: s.Computer, NATS: s.Link.NATS, Creds: s.Link.Creds, Insecure: s.Link.Insecure}
	if rest, ok := strings.CutPrefix(c.Creds, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			c.Creds = filepath.Join(home, rest)
		}
	}
	return c
}

// checkSessions refuses agents that cannot be started, and roots that are not absolute paths.
func checkSessions(s policy.Sessions) error {
	for _, name := range s.Allow {
		if p, ok := profile.Known(name); !filepath.IsAbs(name) && (!ok || len(p.Start) == 0) {
			return fmt.Errorf("sessions.allow: %q is neither an agent (%s) nor the absolute path of a program", name, strings.Join(startable(), ", "))
		}
	}
	for _, dir := range s.Roots {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("sessions.roots: %q is not an absolute path", dir)
		}
	}
	return nil
}

// Settings returns the settings in use.
func (s *Policies) Settings() policy.Settings {
	if s.Set == nil {
		return policy.Settings{}
	}
	return s.Set.Settings()
}

// Amended returns a profile with the person's settings applied.
func (s *Policies) Amended(p profile.Profile) profile.Profile {
	if s.Set == nil {
		return p
	}
	own, err := p.With(s.Set.Settings().Profiles[p.Name])
	if err != nil {
		s.Log.Warn("profile", "err", err) // it was checked
		return p
	}
	return own
}

// limitsOf returns the limits that settings ask for.
func limitsOf(settings policy.Settings) (limits relay.LimitsChanged, err error) {
	brakes := maps.Clone(settings.Brakes)
	own := map[string]*int{"own_minute": &limits.Own.Minute, "own_hour": &limits.Own.Hour, "own_fan_out": &limits.Own.FanOut}
	for key, n := range own {
		if v, set := brakes[key]; set {
			if *n, err = strconv.Atoi(v); err != nil || *n < 1 || *n > api.MaxCount {
				return limits, fmt.Errorf("brakes: %s: %q is not a number of at least 1 and at most %d", key, v, api.MaxCount)
			}
			delete(brakes, key)
		}
	}
	for key := range brakes {
		if !slices.Contains(brakeSettings, key) {
			all := slices.Concat(brakeSettings, slices.Sorted(maps.Keys(own)))
			return limits, fmt.Errorf("brakes: no limit %q; the limits are %s", key, strings.Join(all, ", "))
		}
	}
	if limits.Limits, err = api.ParseSettings(brakes); err != nil {
		return limits, fmt.Errorf("brakes: %w", err)
	}
	if limits.Chats, err = api.ParseSettings(settings.Chats); err != nil {
		return limits, fmt.Errorf("chats: %w", err)
	}
	limits.Commands = relay.Commands{Names: settings.Deliver.BareSlash, Profiles: profile.Commanded()}
	return limits, nil
}

// brakeSettings are the settings of chats that also apply outside chats.
var brakeSettings = []string{"depth", "rate", "bytes", "expire", "door", "deliver"}

// workplaces returns where all sessions work. It is called now and then for as long as a sidecar lives, and
// many sessions work in one directory, so it looks up the project and repository of each directory once.
func (s *Policies) workplaces() map[message.ID]policyset.Workplace {
	rooms, of := map[message.ID]policyset.Workplace{}, map[string]policyset.Workplace{}
	for session := range s.Relay.Snapshot().Present() {
		dir := workingDir(session)
		room, known := of[dir]
		if !known {
			room = policyset.Workplace{Dir: dir, Project: repository.Nearest(dir, scripting.ProjectFile), Repository: repository.Of(dir)}
			of[dir] = room
		}
		if agent, ok := profile.AgentByName(session.Profile); ok {
			room.Bypasses = agent.Bypasses(process.Arguments(session.Foreground.PID))
		}
		rooms[session.ID] = room
	}
	return rooms
}

// workingDir returns where a peer works: the working directory of its program, or the repository that it is; ""
// if there is none.
func workingDir(peer message.Peer) string {
	if peer.Kind == message.PeerRepository {
		return peer.Key
	}
	return process.WorkingDir(peer.Foreground.PID)
}

// recentQuestions returns the latest decided messages, as questions to the policies of now.
func (s *Policies) recentQuestions(ctx context.Context, most int) ([]relay.Question, error) {
	recent, err := s.Journal.Recent(ctx, most)
	if err != nil {
		return nil, err
	}
	snap := s.Relay.Snapshot()
	var questions []relay.Question
	for _, d := range recent {
		q, err := s.questionOf(ctx, snap, d)
		if err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	return questions, nil
}

func (s *Policies) questionOf(ctx context.Context, snap registry.Snapshot, d journal.Decided) (relay.Question, error) {
	q := relay.Question{Message: d.Message, Snapshot: snap}
	if d.Chat != "" {
		chat, ok := snap.Chat(d.Chat)
		if !ok {
			var err error
			if chat, err = s.Journal.Chat(ctx, string(d.Chat)); err != nil && !errors.Is(err, journal.ErrNotFound) {
				return q, err
			}
		}
		q.Chat = &chat
	}
	for _, id := range d.Targets {
		target, ok := s.Names.Ended.SessionOf(snap, id)
		if !ok {
			target = message.Peer{ID: id}
		}
		q.Targets = append(q.Targets, target)
	}
	return q, nil
}

// policyToldWithin is how long the relay and tmux may take to show something that is shown only once: other
// programs may keep the computer busy.
const policyToldWithin = 30 * time.Second

// shown shows a text to a person, at the attached terminals.
func (s *Policies) shown(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), policyToldWithin)
	defer cancel()
	if err := s.Relay.NotifyOf(ctx, "", shownSafely(text, 4*policyErrorWidth)); err != nil {
		s.Log.Warn("a notice is not shown", "notice", text, "err", err)
	}
}

// failed shows why the policies as saved are not in use.
func (s *Policies) failed(problem string) {
	defer s.Bell.Ring() // the status shows it too
	if s.Tmux == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), policyToldWithin)
	defer cancel()
	text := strings.ReplaceAll(shownSafely(problem, policyErrorWidth), "#", "##")
	if err := s.Tmux.SetServerOption(ctx, PolicyErrorOption, text); err != nil {
		s.Log.Warn("write the policies' error", "err", err)
	}
}

// shownSafely returns a text without characters that a terminal might interpret, cut to a width.
func shownSafely(text string, width int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?")))
	if len(runes) > width {
		runes = append(runes[:width-1], '…')
	}
	return string(runes)
}

// Offer registers the operations with a server.
func (s *Policies) Offer(server *api.Server) {
	api.Handle(server, api.Policy, s.Status)
	api.Handle(server, api.RollbackPolicy, s.Rollback)
	api.Handle(server, api.DiffPolicy, s.Diff)
	api.Handle(server, api.ExplainPolicy, s.Explain)
}

// Status returns the status of the policies.
func (s *Policies) Status(context.Context, api.Caller, api.None) (policy.Status, error) {
	if s.Set == nil {
		return policy.Status{}, errNoPolicies()
	}
	return s.Set.Status(), nil
}

func errNoPolicies() *api.Error {
	return api.Errorf(api.CodeRefused, "this sidecar asks no policies")
}

// Rollback goes back to earlier policies.
func (s *Policies) Rollback(ctx context.Context, from api.Caller, req api.RollbackPolicyRequest) (policy.Status, error) {
	if err := s.Callers.atTerminal(ctx, from, "go back to earlier policies", "policy rollback"); err != nil {
		return policy.Status{}, err
	}
	if s.Set == nil {
		return policy.Status{}, errNoPolicies()
	}
	status, err := s.Set.Rollback(ctx, req.Sure)
	if errors.Is(err, policyset.ErrNoOther) {
		return status, api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom policy log shows which were in use")
	}
	return status, err
}

// Diff says what other files would change. Only a person may try policies from a directory that anybody may
// write: such policies see messages before a filter has masked them, and the state that the person's own
// policies keep, and their errors or the line that decides can reveal both.
func (s *Policies) Diff(ctx context.Context, from api.Caller, req api.DiffPolicyRequest) (policy.Trial, error) {
	if s.Set == nil {
		return policy.Trial{}, errNoPolicies()
	}
	if filepath.Clean(req.Dir) != filepath.Clean(s.Set.Config) {
		if err := s.Callers.personOnly(ctx, from, "try the policies of another directory"); err != nil {
			return policy.Trial{}, err
		}
	}
	tried, err := s.Set.Diff(ctx, req.Dir)
	if err != nil {
		return tried, api.Errorf(api.CodeFailed, "%w", err).WithHint("intercom policy check")
	}
	return tried, nil
}

// Explain says what policies decided about a message, and what they would decide now.
func (s *Policies) Explain(ctx context.Context, _ api.Caller, req api.ExplainPolicyRequest) (e policy.Explained, err error) {
	if s.Set == nil {
		return e, errNoPolicies()
	}
	id, err := s.Names.messageOf(ctx, req.ID)
	if err != nil {
		return e, err
	}
	if e.Message, err = s.Journal.Message(ctx, string(id)); err != nil {
		return e, err
	}
	if e.Then, err = s.Journal.Verdicts(ctx, id); err != nil {
		return e, err
	}
	for i := range e.Then {
		e.Then[i].Body = nil // the log shows what was said
	}
	d := journal.Decided{Message: e.Message}
	deliveries, err := s.Journal.Deliveries(ctx, id)
	if err != nil {
		return e, err
	}
	for _, one := range deliveries {
		d.Chat = one.Chat
		if !slices.Contains(d.Targets, one.Target) {
			d.Targets = append(d.Targets, one.Target)
		}
	}
	q, err := s.questionOf(ctx, s.Relay.Snapshot(), d)
	if err != nil {
		return e, err
	}
	e.Now, err = s.Set.Explain(ctx, q)
	e.Message = redactedMessage(e.Message)
	return e, err
}
