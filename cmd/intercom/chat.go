package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Connect panes in chats: what one says, the others get",
		Long: `A chat connects panes: what one says is typed into all the others, under the
name of whoever said it. CHAT is a chat's name or id; the first four characters
that chat list shows are enough.`,
		Example: `  intercom chat start %1 %2 --say 'Introduce yourselves.'
  intercom chat stop --all`,
		Args: a.onlyCommands,
		RunE: showHelp,
	}
	cmd.AddCommand(
		a.chatStart(), a.chatList(), a.chatShow(), a.chatStop(), a.chatPause(), a.chatResume(),
		a.chatAdd(), a.chatRemove(), a.chatMute(), a.chatSay(), a.chatStats(),
	)
	return cmd
}

// showChats lists chats; stopped says whether everything is stopped.
func (a *app) showChats(chats []message.Chat, stopped bool) {
	if len(chats) == 0 {
		a.say("no chats")
		return
	}
	rows := [][]string{{"CHAT", "NAME", "STATE", "STARTED", "PARTICIPANTS", "WHY"}}
	for _, c := range chats {
		rows = append(rows, []string{c.ID.Short(), c.Name, string(c.State), day(c.Started), participants(c), whyOf(c)})
	}
	a.table(rows)
	for _, c := range chats {
		if way := wayOn(c, stopped); way != "" {
			a.say("chat %s is paused → %s", chatName(c), plainLine(way))
		}
	}
}

// showReturned tells which agents are back, and the commands that take up their chats again.
func (a *app) showReturned(all []api.Returned) {
	for _, r := range all {
		var who []string
		for _, one := range r.Agents {
			who = append(who, fmt.Sprintf("%s in %s", one.Name, one.Pane))
		}
		chat := message.Chat{ID: r.Chat, Name: r.Name}
		again := r.Chat.Short() // its name may mean another chat
		a.say("back: %s, of chat %s → intercom chat start --again %s", plainLine(strings.Join(who, ", ")), chatName(chat), again)
	}
}

// wayOn returns the command that lets a paused chat go on; "" for any other chat. While everything is stopped, no chat
// goes on by itself.
func wayOn(c message.Chat, stopped bool) string {
	switch {
	case c.State != message.ChatPaused:
		return ""
	case stopped:
		return resumeAll
	}
	return "intercom chat resume " + cmp.Or(c.Name, c.ID.Short())
}

// participants lists the participants of a chat, in the order of their numbers; in a one-way chat, the first and then
// those whose answers come to it.
func participants(c message.Chat) string {
	all := make([]string, len(c.Participants))
	for i, p := range c.Participants {
		all[i] = fmt.Sprintf("%s (%d)", p.Name, p.Number)
		if p.Role != "" {
			all[i] += " " + p.Role
		}
		switch {
		case p.Gone:
			all[i] += " gone"
		case p.Left:
			all[i] += " left"
		case !p.MaySpeak:
			all[i] += " muted"
		}
	}
	if c.OneWay && len(all) > 1 {
		return all[0] + " ← " + strings.Join(all[1:], ", ")
	}
	return strings.Join(all, ", ")
}

// chatName returns the name of a chat for use in a sentence.
func chatName(c message.Chat) string {
	if c.Name == "" {
		return c.ID.Short()
	}
	return plainLine(c.Name) + " " + c.ID.Short()
}
