package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Computers serves what concerns other computers: it lists them, asks them, and answers them.
type Computers struct {
	Callers  *Callers
	Relay    present
	Link     *link.Link
	Settings func() policy.Settings
	Started  time.Time // of this sidecar
	Log      *slog.Logger
}

// Offer registers the operations with a server.
func (s *Computers) Offer(server *api.Server) {
	api.Handle(server, api.Computers, s.List)
	api.Handle(server, api.ForgetComputer, s.Forget)
}

// roundTripWithin is how long a computer may take to answer when the computers are listed.
const roundTripWithin = time.Second

// List lists the computers, this one first.
func (s *Computers) List(ctx context.Context, _ api.Caller, _ api.None) ([]api.Computer, error) {
	state, settings := s.Link.State(), s.Settings()
	own := api.Computer{
		Name: cmp.Or(settings.Computer, message.LocalComputer), Local: true, Present: true, Since: &s.Started,
		Sessions: len(inPanes(s.Relay.Snapshot())), Server: state.Server,
	}
	if state.Wanted && !state.Connected {
		own.Why = cmp.Or(state.Why, "connecting")
	}
	all := []api.Computer{own}
	for _, c := range s.Link.Computers() {
		one := api.Computer{Name: c.Name, Present: c.Present && state.Connected, Sessions: len(c.Sessions), Waiting: c.Waiting, Key: c.Key}
		if !c.Since.IsZero() {
			one.Since = &c.Since
		}
		for _, what := range policy.Powers {
			if settings.May(c.Token, what) {
				one.May = append(one.May, what)
			}
		}
		all = append(all, one)
	}
	ctx, cancel := context.WithTimeout(ctx, roundTripWithin)
	defer cancel()
	var asked sync.WaitGroup
	for i := range all[1:] {
		one := &all[i+1]
		if !one.Present {
			continue
		}
		asked.Go(func() {
			took, err := s.Link.RoundTrip(ctx, strings.ToLower(one.Name))
			if err == nil {
				one.RoundTrip = float64(took.Microseconds()) / 1000
			}
			one.Present = err == nil
		})
	}
	asked.Wait()
	return all, nil
}

// Forget forgets a computer. Only a person may ask for it, since another computer can take the name afterwards.
func (s *Computers) Forget(ctx context.Context, from api.Caller, req api.ForgetComputerRequest) (none api.ForgottenComputer, err error) {
	if err := s.Callers.personOnly(ctx, from, "forget a computer"); err != nil {
		return none, err
	}
	token, err := link.Token(req.Name)
	if err != nil {
		return none, api.Errorf(api.CodeUsage, "%w", err)
	}
	were, known, err := s.Link.ForgetComputer(ctx, token)
	if err == nil && !known {
		return none, s.unknown(req.Name)
	}
	return api.ForgottenComputer(were), err
}

func (s *Computers) unknown(name string) error {
	return api.Errorf(api.CodeNotFound, "no computer %q", name).WithHint("intercom computers").About(api.NoComputer, name)
}

// where returns the computer of a session, "" for this one, and the session's reference there. computer is the
// one that the request names. A session may also be given as COMPUTER/SESSION; one that is a peer here already,
// by its name here.
func (s *Computers) where(computer, session string) (token, ref string, err error) {
	if s == nil {
		if !isHere(computer, "") {
			err = s.unknown(computer)
		}
		return "", session, err
	}
	own := s.Settings().Computer
	if computer == "" {
		before, after, both := strings.Cut(session, "/")
		switch p, err := s.Relay.Snapshot().Find(session); {
		case err == nil && p.Kind == message.PeerRemote:
			return p.Computer, string(p.ID), nil
		case err == nil:
			return "", session, nil
		case !both:
			if token, there, err := s.Link.Find(session); err == nil {
				return token, string(there.ID), nil
			}
			return "", session, nil
		}
		if isHere(before, own) {
			return "", after, nil
		}
		if token, err := link.Token(before); err != nil || !s.knows(token) {
			return "", session, nil // the key of another kind of peer, like a path
		}
		computer, session = before, after
	}
	if isHere(computer, own) {
		return "", session, nil
	}
	token, err = link.Token(computer)
	if err != nil || !s.knows(token) {
		return "", session, s.unknown(computer)
	}
	if session == "" {
		return token, "", nil
	}
	_, there, err := s.Link.Find(token + "/" + session)
	if err != nil {
		return token, session, wire(err)
	}
	return token, string(there.ID), nil
}

func (s *Computers) knows(token string) bool {
	_, known := s.other(token)
	return known
}

// other returns the known computer with that token.
func (s *Computers) other(token string) (c link.Computer, known bool) {
	all := s.Link.Computers()
	i := slices.IndexFunc(all, func(c link.Computer) bool { return c.Token == token })
	if i < 0 {
		return c, false
	}
	return all[i], true
}

// enter makes a session of another computer a peer here, if it is not yet, and returns its reference here.
// computer is the one that the request names.
func (s *Computers) enter(ctx context.Context, computer, ref string) (string, error) {
	if ref == "" {
		return ref, nil
	}
	token, there, err := s.where(computer, ref)
	if err != nil || token == "" {
		return there, err
	}
	if p, ok := s.Relay.Snapshot().Peer(message.ID(there)); ok && p.Ended == nil {
		return there, nil
	}
	_, session, err := s.Link.Find(token + "/" + there)
	if err != nil {
		return ref, wire(err)
	}
	p, err := s.Link.Enter(ctx, token, session)
	return string(p.ID), wire(err)
}

// entered is enter for the target of a policy's route; it also returns the peers after that.
func (s *Computers) entered(ctx context.Context, ref string) (string, registry.Snapshot, error) {
	id, err := s.enter(ctx, "", ref)
	return id, s.Relay.Snapshot(), err
}

// isHere reports whether a computer is this one.
func isHere(computer, own string) bool {
	return computer == "" || strings.EqualFold(computer, message.LocalComputer) || own != "" && strings.EqualFold(computer, own)
}

const (
	// elsewhereWithin is how long another computer may take for an operation that is done at once.
	elsewhereWithin = 4500 * time.Millisecond
	// hereWithin is how long a computer that counts as present may take to answer before it is asked for an
	// operation that takes longer. awayWithin is the same for one that counts as away: it may have come back
	// just now.
	hereWithin = 4 * time.Second
	awayWithin = time.Second
)

// answers returns an error if a computer does not answer now. One that is suspended, or whose line is cut,
// keeps its connection for a while and may still count as present.
func (s *Computers) answers(ctx context.Context, token string) error {
	within := awayWithin
	if c, _ := s.other(token); c.Present {
		within = hereWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := s.Link.RoundTrip(ctx, token)
	return err
}

// elsewhere asks another computer to carry out an operation on behalf of the caller. within is how long the
// operation may take there. If that is long, it first checks that the computer answers at all.
func elsewhere[Q, R any](ctx context.Context, s *Computers, from api.Caller, op api.Op[Q, R], token string, req Q, within time.Duration) (out R, err error) {
	if from.Remote != "" { // a caller there may not be allowed to do what this computer is
		s.Log.Warn("refused to another computer", "what", op.Name+" on a third one", "who", from.Remote)
		return out, api.Errorf(api.CodeRefused, "ask computer %q: requests are not passed on to a third computer", token).WithHint("ask it directly")
	}
	by, err := s.Callers.verified(ctx, from, "ask another computer")
	if err != nil {
		return out, err
	}
	author := message.Address{Name: s.Callers.Person}
	if !by.Person() {
		author = message.Address{Peer: by.Peer}
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if within > elsewhereWithin {
		if err := s.answers(ctx, token); err != nil {
			return out, fromElsewhere(err, true) // it was asked for nothing else
		}
	}
	return out, fromElsewhere(s.Link.Ask(ctx, token, op.Name, s.Link.Author(author), req, &out), op.Reads)
}

// fromElsewhere converts an error of another computer to one for the client. reads says that the operation
// changes nothing.
func fromElsewhere(err error, reads bool) error {
	if e, ok := errors.AsType[*link.RemoteError](err); ok {
		return api.Errorf(cmp.Or(api.Code(e.Code), api.CodeFailed), "%s", e.Error()).WithHint("%s", e.Hint)
	}
	if e, ok := errors.AsType[*link.AwayError](err); ok && e.Asked && !reads {
		return api.Errorf(api.CodeUncertain, "%w: it may have done it", e).WithHint("look before you try again: intercom session list")
	} else if ok {
		return api.Errorf(api.CodeFailed, "%w", e).WithHint("intercom computers says when it was here last")
	}
	if errors.Is(err, link.ErrNotLinked) {
		return api.Errorf(api.CodeFailed, "%w", err).WithHint("intercom computers says why")
	}
	return err
}

// serve carries out an operation for those other computers that the person lets do it.
func serve[Q, R any](s *Computers, op api.Op[Q, R], do func(context.Context, api.Caller, Q) (R, error)) {
	s.Link.Answer(op.Name, func(ctx context.Context, computer string, from message.Peer, body []byte) (any, error) {
		if from.ID == "" {
			return nil, &link.RemoteError{Code: string(api.CodeRefused), Text: "nobody asks"}
		}
		if !s.Settings().May(computer, op.Door.Power) {
			s.Log.Warn("refused to another computer", "computer", computer, "what", op.Name, "who", from.Name)
			return nil, &link.RemoteError{
				Code: string(api.CodeRefused), Text: fmt.Sprintf("%s may not %s here", computer, op.Door.Power),
				Hint: fmt.Sprintf("its person allows it in init.lua: computers = { %s = { may = { …, %q } } }", computer, op.Door.Power),
			}
		}
		var req Q
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, &link.RemoteError{Code: string(api.CodeUsage), Text: err.Error()}
		}
		if op.Check != nil {
			if err := op.Check(req); err != nil {
				return nil, toElsewhere(err)
			}
		}
		out, err := do(ctx, api.Caller{Remote: from.ID}, req)
		if err != nil {
			return nil, toElsewhere(err)
		}
		if op.Whole != nil {
			out = op.Whole(out)
		}
		return out, nil
	})
}

// toElsewhere converts an error to the form in which another computer gets it.
func toElsewhere(err error) error {
	e := api.AsError(wire(err))
	return &link.RemoteError{Code: string(e.Code), Text: e.Error(), Hint: e.Hint}
}

// remotes returns the other computers, with their sessions that can be addressed.
func (s *Computers) remotes() (all []link.Computer) {
	if s == nil {
		return nil
	}
	return s.Link.Computers()
}

// ToldOf returns the sessions of this computer that other computers hear of.
func ToldOf(snap registry.Snapshot) (all []link.Session) {
	for _, p := range inPanes(snap) {
		one := link.Session{ID: p.ID, Name: p.Name, Agent: p.Profile}
		if p.Caller != nil { // any other title is set by the program, and changes
			one.Title = p.Title
		}
		all = append(all, one)
	}
	return all
}
