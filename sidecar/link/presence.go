package link

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// burst is about how often something is said at most, so that several changes in a row are told once.
const burst = 300 * time.Millisecond

// presence says regularly that this computer is here, at once when its sessions change, and finally that it
// goes.
func (l *Link) presence(ctx context.Context, lf *life) {
	say := func(p presence) {
		p.Name, p.Boot, p.Revision, p.Sent = lf.config.Name, lf.boot, revision(l.Sessions()), l.Now()
		if err := l.publish(lf, hereSubject(lf.token), p); err != nil && ctx.Err() == nil {
			l.Log.Debug("say that this computer is here", "err", err)
		}
	}
	// A computer that hears this may send at once, and nobody might tell it that the server kept nothing. So
	// wait for the mailbox.
	select {
	case <-ctx.Done():
		return
	case <-lf.boxed:
	}
	hello := true
	for {
		connected := lf.conn.IsConnected()
		if connected {
			say(presence{Hello: hello})
		}
		hello = !connected // a computer that comes, or comes back, wants to know who is here
		select {
		case <-ctx.Done():
			say(presence{Bye: true})
			_ = lf.conn.FlushTimeout(tellWithin)
			return
		case <-lf.beat:
			sleep(ctx, burst/2+rand.N(burst)) //nolint:gosec // so that not all answer at once
		case <-time.After(beat):
			l.toldRefusals()
		}
	}
}

// revision identifies what a computer tells of its sessions.
func revision(all []Session) string {
	text, _ := json.Marshal(all)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// heard handles a message that says that a computer is here.
func (l *Link) heard(ctx context.Context, lf *life, m *nats.Msg) {
	token := from(m.Subject)
	if !l.allows(lf, l.payer(kindHere, m), "presence", func(c *cost) *rate.Limiter { return c.here }) {
		return
	}
	if len(m.Data) > maxPresence {
		l.refusal(token, "presence", fmt.Errorf("%d bytes", len(m.Data)))
		return
	}
	key, err := signer(m.Subject, m.Header, m.Data)
	var p presence
	if err == nil {
		err = json.Unmarshal(m.Data, &p)
	}
	if err == nil && token == lf.token {
		if p.Boot != lf.boot && key != lf.id.public && l.trouble("another computer is called "+token+", too") {
			l.Log.Warn("another computer has the name of this one", "computer", token)
		}
		return
	}
	if err == nil {
		err = l.trusts(lf, token, key)
	}
	if off := l.Now().Sub(p.Sent); err == nil && (off > stale || off < -stale) {
		l.refusal(token, "its clock", fmt.Errorf("it differs by %s", off.Round(time.Second)))
	}
	if err != nil {
		l.refusal(token, "presence", err)
		return
	}
	l.mu.Lock()
	ask, came, greet := l.known.heard(token, p, l.Now())
	if ask {
		l.known[token].asking = true
	}
	if came {
		delete(l.rests, token)
	}
	l.mu.Unlock()
	if greet {
		wake(lf.beat)
	}
	if came {
		wake(l.wake)
	}
	if ask {
		lf.asking.Go(func() { l.askSessions(ctx, lf, token) })
	}
	if came {
		lf.asking.Go(func() {
			if !lf.turn(ctx) {
				return
			}
			defer lf.turnOver()
			if err := l.askFates(ctx, token, true); err != nil {
				l.Log.Debug("ask what became of messages", "computer", token, "err", err)
			}
			l.tellChats(lf, token)
			l.askChats(ctx, token)
		})
	}
}

// askPause is the time between two questions for the sessions of one computer, so that several changes in a row
// are asked for once.
const askPause = 500 * time.Millisecond

// askAgain is how often an unanswered question is repeated before its computer says again that it is here.
const askAgain = 3

// askSessions asks for the sessions of a computer until they are of the latest revision that it has announced.
func (l *Link) askSessions(ctx context.Context, lf *life, token string) {
	failed := 0
	for {
		l.mu.Lock()
		k := l.known[token]
		if k == nil || k.told == k.revision || ctx.Err() != nil {
			if k != nil {
				k.asking = false
			}
			l.mu.Unlock()
			return
		}
		told := k.told
		l.mu.Unlock()
		sessions, err := l.sessionsOf(ctx, lf, token)
		l.mu.Lock()
		k = l.known[token]
		if k != nil && err != nil && failed < askAgain {
			failed++
			l.mu.Unlock()
			sleep(ctx, askPause+rand.N(time.Second<<failed)) //nolint:gosec // many may have come at once
			continue
		}
		if k == nil || err != nil {
			if k != nil {
				k.asking = false // until it says again that it is here
			}
			l.mu.Unlock()
			l.Log.Debug("sessions of another computer", "computer", token, "err", err)
			return
		}
		l.mu.Unlock()
		l.takeSessions(ctx, token, told, sessions)
		sleep(ctx, askPause)
	}
}

// takeSessions takes in the sessions that a computer has, as of a revision.
func (l *Link) takeSessions(ctx context.Context, token, told string, sessions []Session) {
	l.mu.Lock()
	k := l.known[token]
	if k == nil {
		l.mu.Unlock()
		return
	}
	for _, s := range k.Sessions {
		delete(l.told, s.ID)
	}
	own := l.Sessions()
	taken := func(id message.ID) bool {
		return l.told[id] != "" || slices.ContainsFunc(own, func(s Session) bool { return s.ID == id })
	}
	sessions = plausible(sessions, taken, mostSessionsAltogether-l.known.sessions(token))
	for _, s := range sessions {
		l.told[s.ID] = token
	}
	l.news = l.news || len(k.Sessions) == 0 // saved soon, so that its sessions are found by name while it is away
	k.Sessions, k.revision, l.stale = sessions, told, true
	l.mu.Unlock()
	l.sweep(ctx, token)
}

// sessionsOf asks a computer for its sessions. Nobody waits for them, so the answer may be slow.
func (l *Link) sessionsOf(ctx context.Context, lf *life, token string) ([]Session, error) {
	if !lf.turn(ctx) {
		return nil, ctx.Err()
	}
	defer lf.turnOver()
	ctx, cancel := context.WithTimeout(ctx, slowWithin)
	defer cancel()
	var all few[Session]
	err := l.Ask(ctx, token, opSessions, Session{}, nil, &all)
	return all, err
}

const (
	slowWithin = 20 * time.Second
	// turnsAtOnce is how many computers are asked at the same time for who they are. More at once would only
	// slow each other.
	turnsAtOnce = 4
)

// turn waits until one more computer may be asked.
func (lf *life) turn(ctx context.Context) bool {
	select {
	case lf.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (lf *life) turnOver() { <-lf.turns }

// sweep ends the peers here that were sessions of a computer and that it no longer has, as it tells. A peer
// about which something is still to be told stays until then.
func (l *Link) sweep(ctx context.Context, token string) {
	var gone []message.ID
	l.mu.Lock()
	k := l.known[token]
	for id, computer := range l.in {
		if k == nil || k.revision == "" || computer != token || id.Timeless() || slices.ContainsFunc(k.Sessions, func(s Session) bool { return s.ID == id }) {
			continue
		}
		awaited := slices.ContainsFunc(l.queue, func(d message.Delivery) bool { return d.Target == id })
		for _, one := range l.open {
			awaited = awaited || one.target == id && one.state != message.Uncertain
		}
		if !awaited {
			gone = append(gone, id)
		}
	}
	l.mu.Unlock()
	for _, id := range gone {
		if err := l.Relay.Gone(ctx, id, message.AgentGone); err != nil && ctx.Err() == nil {
			l.Log.Warn("a session of another computer has ended", "computer", token, "err", err)
		}
	}
}
