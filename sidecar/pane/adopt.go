package pane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Refusal says why a pane is not adopted, and what the person can do about it.
type Refusal struct {
	Pane string
	Why  string
	Hint string
}

// Error returns the reason, with the pane.
func (r *Refusal) Error() string { return fmt.Sprintf("adopt %s: %s", r.Pane, r.Why) }

// ErrorKind returns KindNotAdoptable.
func (r *Refusal) ErrorKind() message.ErrorKind { return message.KindNotAdoptable }

// Request is a person's word that a pane may be read and typed into.
type Request struct {
	Pane    string // %7
	Profile string // "": the agent that is recognised by its process
	Prompt  string // of a line program, a regular expression; "": learned from the screen
	// Awaited says that the program was started as its agent and has not shown itself yet. Until it takes its terminal as
	// an agent does, it may as well be a line program of that name, and a person can still say so.
	Awaited bool
}

// adoptPatience is how long adoption waits for a program that writes to come to rest at its prompt, and tmuxPatience how
// long it waits for the looks that show that.
const (
	adoptPatience = 3 * time.Second
	tmuxPatience  = 6 * time.Second
)

// Adopt examines a pane and returns the session that it would be. It changes nothing. A *Refusal
// says why the pane cannot be adopted as it is.
func (ps *Panes) Adopt(ctx context.Context, r Request) (message.Peer, error) {
	if _, agent := profile.AgentByName(r.Profile); agent || r.Profile == "" {
		return ps.adoptAgent(ctx, r)
	}
	prof, ok := profile.ByName(r.Profile)
	if !ok {
		return message.Peer{}, &Refusal{r.Pane, fmt.Sprintf("there is no profile %q", r.Profile), "profiles: " + strings.Join(profiles(), ", ")}
	}
	listed, err := ps.find(ctx, r.Pane)
	if err != nil {
		return message.Peer{}, err
	}
	if listed.Dead {
		return message.Peer{}, &Refusal{r.Pane, "the pane is dead", "start its program again, or choose another pane"}
	}
	session := message.Peer{
		Computer: message.LocalComputer, PaneOf: message.PaneOf{Pane: r.Pane, TTY: listed.TTY, Profile: prof.Name, PaneProc: message.Process{PID: listed.PID}, Foreground: message.Process{PID: listed.PID}}, Title: listed.Title,
		State: message.Idle,
	}
	if err := who(&session, prof); err != nil {
		return message.Peer{}, err
	}
	look, err := ps.rest(ctx, r.Pane, prof)
	if err != nil {
		return message.Peer{}, err
	}
	before := session.Foreground
	if err := who(&session, prof); err != nil { // it may have been about to start another
		return message.Peer{}, err
	}
	if session.Foreground != before || look.Facts.PID != session.PaneProc.PID {
		return message.Peer{}, &Refusal{r.Pane, "the program in front has just changed", "wait until it shows its prompt, then try again"}
	}
	if refusal := refuseFacts(r.Pane, look.Facts, prof); refusal != nil {
		return message.Peer{}, refusal
	}
	session.Since = process.Now()
	if isTUI(prof) {
		return adoptTUI(session, look)
	}
	if session.Prompt, session.PromptIsRE, err = choosePrompt(r, prof, screenOf(look)); err != nil {
		return message.Peer{}, err
	}
	if look.Facts.Unbracketed && prof.Reads == profile.Bracketed && !isAgent(prof) { // at its prompt: while it works it may be off
		return message.Peer{}, &Refusal{r.Pane, "its program has bracketed paste switched off", "adopt it --as line"}
	}
	return session, nil
}

// who fills in which processes a session is bound to, and refuses programs that must not be adopted.
func who(session *message.Peer, prof profile.Profile) error {
	front, err := process.Front(session.TTY, session.PaneProc.PID)
	switch {
	case errors.Is(err, process.ErrUnsupported):
		return nil
	case errors.Is(err, process.ErrOtherTerminal), errors.Is(err, process.ErrNoProcess):
		return undetermined(session.Pane, "program shows its prompt")
	case err != nil:
		return fmt.Errorf("adopt %s: %w", session.Pane, err)
	}
	self, err := process.Identify(front.Leader.PID)
	if errors.Is(err, process.ErrExecuting) {
		return undetermined(session.Pane, "program shows its prompt")
	}
	if err != nil { // it has ended, and may have left others behind: refused below
		front.Leader.Start = 0
		self.Process = front.Leader
	}
	if session.PaneProc.Start, err = process.Start(session.PaneProc.PID); err != nil {
		return fmt.Errorf("adopt %s: %w", session.Pane, err)
	}
	session.Foreground = asMessage(self)
	if refusal := refuse(session.Pane, front, prof); refusal != nil && gate.Stands("pane:refuse") {
		return refusal
	}
	if self.Exec == process.Hidden {
		return &Refusal{
			session.Pane, fmt.Sprintf("%q hides what it executes, so it could become a shell unseen", self.Name),
			"start a program that runs as you, and that you can inspect",
		}
	}
	return nil
}

// undetermined refuses a pane while it cannot be told who is in front. until says what has to happen first.
func undetermined(pane, until string) *Refusal {
	return &Refusal{pane, "the program in front cannot be determined", "wait until its " + until + ", then try again"}
}

// find looks the pane up in the list of panes.
func (ps *Panes) find(ctx context.Context, pane string) (tmux.Pane, error) {
	panes, err := ps.Client.Panes(ctx)
	if err != nil {
		return tmux.Pane{}, fmt.Errorf("adopt %s: %w", pane, err)
	}
	for _, p := range panes {
		if p.ID == pane {
			return p, nil
		}
	}
	return tmux.Pane{}, &Refusal{pane, "there is no such pane", "`tmux list-panes -a` shows the ids, such as %7"}
}

// refuse says why the programs in front of the pane must not be adopted.
func refuse(pane string, front process.FrontGroup, prof profile.Profile) *Refusal {
	if m, why, hint, found := refusedIn(front); found {
		return &Refusal{pane, fmt.Sprintf("%q is in front: %s", m.Name, why), hint}
	}
	switch {
	case front.Leader.Start == 0:
		return &Refusal{pane, "the program that was started here has ended, but its child processes still hold the terminal", "start the agent by itself, then adopt the pane"}
	case front.Canonical && !front.Echo:
		return &Refusal{pane, "its terminal does not echo: a password prompt?", "answer it, then try again"}
	case front.Canonical && prof.Reads != profile.Joined:
		return &Refusal{pane, "its terminal collects lines itself, so its program has no bracketed paste", "adopt it --as line"}
	}
	return nil
}

// refuseFacts says why the pane, as tmux sees it, cannot be adopted now.
func refuseFacts(pane string, f tmux.Facts, prof profile.Profile) *Refusal {
	switch {
	case f.Dead:
		return &Refusal{pane, "the pane is dead", "start its program again, or choose another pane"}
	case f.InMode:
		return &Refusal{pane, "the pane is in copy mode or another mode", "leave the mode (q), then try again"}
	case f.Synchronised:
		return &Refusal{pane, "its window is synchronised: what is typed into one pane goes to all", "tmux set-option -w synchronize-panes off"}
	case f.InputOff:
		return &Refusal{pane, "input of the pane is off", "tmux select-pane -e -t " + pane}
	case f.Alternate && !isTUI(prof) && gate.Stands("pane:refuse"):
		return &Refusal{pane, "a full-screen program is shown", "leave the program and try again, or adopt it --as tui if it has a composer that is empty now"}
	}
	return nil
}

// lineAbove is how many lines above the screen are looked at, to tell whether its first row continues one of them.
const lineAbove = 1

// rest waits until two looks, the quiet time apart, show the same. Two that differ say that the program writes; a tmux
// that is slow to answer says nothing about that.
func (ps *Panes) rest(ctx context.Context, pane string, prof profile.Profile) (tmux.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, tmuxPatience)
	defer cancel()
	last, err := ps.Client.Look(ctx, pane, lineAbove)
	if err != nil {
		return last, fmt.Errorf("adopt %s: %w", pane, err)
	}
	writes := &Refusal{pane, "its program keeps writing", "wait until it shows its prompt, then try again"}
	why := &Refusal{pane, "tmux takes too long to show whether its program rests", "try again when this computer has less to do"}
	for begun := time.Now(); ; {
		select {
		case <-ctx.Done():
		case <-time.After(prof.Quiet):
		}
		next, err := ps.Client.Look(ctx, pane, lineAbove)
		switch {
		case ctx.Err() != nil:
			return last, why
		case err != nil:
			return last, fmt.Errorf("adopt %s: %w", pane, err)
		case next.Facts == last.Facts && sameRows(next.Rows, last.Rows):
			return next, nil
		case time.Since(begun) >= adoptPatience:
			return last, writes
		}
		last, why = next, writes
	}
}

func sameRows(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// choosePrompt returns the prompt that the person gave, which the screen must show, or learns it
// from the screen.
func choosePrompt(r Request, prof profile.Profile, s screen.Screen) (text string, isRE bool, err error) {
	if r.Prompt == "" {
		prompt, err := screen.Learn(s)
		if err != nil {
			return "", false, &Refusal{r.Pane, err.Error(), "bring the program to its empty prompt, or give it: --prompt 'REGEXP'"}
		}
		return prompt.String(), false, nil
	}
	prompt, err := screen.Pattern(r.Prompt)
	if err != nil {
		return "", false, &Refusal{r.Pane, err.Error(), "the syntax is RE2's: https://github.com/google/re2/wiki/Syntax"}
	}
	if reading := screen.Read(s, prompt.With(prof.Continuations)); !reading.MayType {
		return "", false, &Refusal{r.Pane, fmt.Sprintf("its screen does not show the prompt %q, empty, under the cursor", r.Prompt), "bring the program to its empty prompt, then try again"}
	}
	return r.Prompt, true, nil
}
