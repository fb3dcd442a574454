package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// A pane may be named as tmux names it: work:0.1, {right}, @3, or 1 for a pane of this window. Except for numbers, no
// name of ours looks like that, and the name of a session comes first. A word that could be a misspelt name is never
// passed to tmux, which would take half a name for a window.
var (
	target   = regexp.MustCompile(`[^A-Za-z0-9._-]|^\d{0,3}\.?\d{1,3}$`)
	relative = regexp.MustCompile(`^[^:@$]*$|^:`) // its meaning depends on the current pane
)

// nameLike matches what reads like the name of a session: if it names no pane, the sidecar says which session has a
// similar name.
var nameLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pM\pN._' -]*\pL[\pL\pM\pN._' -]*$`) })

// onComputer matches COMPUTER/SESSION. If a tmux session has such a name, work/x: with a colon names that one.
var onComputer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`) })

// panes replaces the words that are tmux targets with the ids of their panes. Other words stay as they are: the sidecar
// knows whether they are names.
func (a *app) panes(ctx context.Context, c *api.Client, words ...*string) error {
	ask := slices.DeleteFunc(words, func(w *string) bool { return paneID().MatchString(*w) || !target.MatchString(*w) })
	if len(ask) == 0 {
		return nil
	}
	asking, cancel := within(ctx)
	defer cancel()
	peers, err := api.Call(asking, c, api.Peers, api.None{})
	if err != nil {
		return err
	}
	own := a.ownPane(ctx)
	for _, word := range ask {
		called := func(alias string) bool { return strings.EqualFold(alias, *word) }
		if slices.ContainsFunc(peers, func(p api.Peer) bool { return p.Session.Is(*word) || slices.ContainsFunc(p.Aliases, called) }) {
			continue
		}
		if onComputer().MatchString(*word) {
			continue // a session of another computer, of which the sidecar knows
		}
		if err := titled(asking, c, *word); err != nil {
			return err
		}
		if own == "" && nameLike().MatchString(*word) {
			continue
		}
		if own == "" && relative.MatchString(*word) {
			return api.Errorf(api.CodeUsage, "pane %q: this is not run in a pane, so a relative name means nothing", *word).
				WithHint("give the full name, like %%7 or work:0.1: tmux list-panes -a")
		}
		pane, err := tmux.PaneAt(asking, a.tmuxOptions(), *word, own)
		if err != nil {
			return err
		}
		if pane == "" && nameLike().MatchString(*word) {
			continue
		}
		if pane == "" {
			if err := atComputer(*word); err != nil {
				return err
			}
			return api.Errorf(api.CodeNotFound, "no pane %q", *word).WithHint("tmux list-panes -a")
		}
		*word = pane
	}
	return nil
}

// titled returns the error of a word that is a session's title: titles are for people, and several sessions may have
// the same.
func titled(ctx context.Context, c *api.Client, word string) error {
	sessions, err := api.Call(ctx, c, api.ListSessions, api.None{})
	if err != nil {
		return nil // the request for the session reports the problem
	}
	var names []string
	for _, s := range sessions {
		if strings.EqualFold(s.Title, word) && strings.ContainsFunc(word, unicode.IsSpace) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return api.Errorf(api.CodeNotFound, "no session %q: that is a title", word).WithHint("its name is %s", strings.Join(names, ", or "))
}
