package main

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// The sidecar says what is wrong; the command line says what to type next.

// paneID matches the id that tmux gives to a pane.
var paneID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^%\d+$`) })

// aboutPane adds a hint to the error that a session does not exist. ref is the name that the person used.
func aboutPane(err error, ref string) error {
	told, ok := errors.AsType[*api.Error](err)
	if !ok || told.Code != api.CodeNotFound {
		return err
	}
	if told.Kind == api.NoPane {
		return told // there is nothing to adopt
	}
	if err := atComputer(ref); err != nil {
		return err
	}
	if onComputer().MatchString(ref) {
		return told.WithHint("intercom computers lists the computers, intercom session list their sessions")
	}
	if !paneID().MatchString(ref) {
		return told.WithHint("intercom status lists the adopted panes and their names")
	}
	if told.Kind == api.NoSession {
		told = api.Errorf(api.CodeNotFound, "pane %s is not adopted", ref)
	}
	return told.WithHint("intercom adopt %s if an agent runs there; add --as line for a program that reads lines", ref)
}

// atComputer refuses a session of another computer in the form SESSION@COMPUTER, which other programs use.
func atComputer(ref string) error {
	name, computer, at := strings.Cut(ref, "@")
	if right := computer + "/" + name; at && onComputer().MatchString(right) {
		return api.Errorf(api.CodeNotFound, "no session %q", ref).WithHint("a session of another computer is COMPUTER/SESSION: %s", right)
	}
	return nil
}

// waitingFor says what a message waits for.
func waitingFor(why message.Reason) string {
	if strings.HasPrefix(string(why), "waiting ") {
		return string(why)
	}
	return "waiting: " + string(why)
}

// aboutChat is aboutPane for a chat.
func aboutChat(err error, ref string) error {
	told, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return err
	case told.Kind == api.ChatEnded:
		return told.WithHint("intercom chat start --again %s restarts it; intercom chat list --ended lists ended chats", ref)
	case told.Kind == api.NoChat:
		return told.WithHint("intercom chat list; --ended lists ended chats")
	}
	return err
}

// aboutMember is aboutPane and aboutChat together, for a command about a pane of a chat.
func aboutMember(err error, chat, pane string) error {
	if told, ok := errors.AsType[*api.Error](err); ok && (told.Kind == api.NoChat || told.Kind == api.ChatEnded) {
		return aboutChat(err, chat)
	}
	return aboutPane(err, pane)
}

// checkName refuses a name that the sidecar would refuse.
func checkName(name string) error {
	if err := registry.CheckName(name); err != nil {
		if other := name + "-2"; registry.CheckName(other) == nil { // its characters are allowed
			return api.Errorf(api.CodeUsage, "%w", err).WithHint("choose another, for example %s", other)
		}
		return api.Errorf(api.CodeUsage, "%w", err).WithHint("1 to 64 of A-Z a-z 0-9 . _ - make a name, like alice or build-2")
	}
	return nil
}
