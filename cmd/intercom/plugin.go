package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/ui"
)

// These are the options of the tmux server in which the plugin and its bindings keep data. The person sets those of the
// first group.
const (
	menuKeyOption = comeback.MenuKeyOption
	chatKeyOption = "@intercom-chat-key"
	jumpKeyOption = "@intercom-jump-key"

	originOption  = "@intercom-origin"  // client and pane of whoever pressed a key last
	canOption     = "@intercom-can"     // the menu entries that this program has, with a blank around each
	keysOption    = comeback.KeysOption // the keys that are bound
	takenOption   = "@intercom-taken"   // the keys that were not bound, since something else has them
	rootOption    = "@intercom-root"    // where the plugin is
	usedOption    = service.UsedOption  // the program that it runs
	troubleOption = "@intercom-trouble" // why it has no program of its own revision
	builderOption = "@intercom-builder" // PID-BEGUN of the process that is getting that program, while that is the trouble
	shownOption   = "@intercom-shown"   // client and process of the command that showed something last
)

// How long a line stays at a client at most, unless a key is pressed there.
const (
	goodNews = 5 * time.Second
	badNews  = 8 * time.Second
)

// pressedWithin is how long a key waits for the sidecar to take note of it.
const pressedWithin = 10 * time.Second

// laterEntries are the menu entries that are shown only if the program has the command of that name.
var laterEntries = []string{"ask", "inbox", "policy"}

// plugin returns the commands that key bindings run. A person has no use for them.
func (a *app) plugin() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "What the keys of the tmux plugin run", Hidden: true, Args: a.onlyCommands, RunE: showHelp}
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		// A key is about the server in which it was pressed, whatever server the shell named that started tmux.
		if a.named = cmd.Flags().Changed("server"); !a.named && a.aroundServer() != "" {
			a.server, a.named = a.aroundServer(), true
		}
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Do nothing: shows that this program supports the plugin", Args: between(0, 0, "no arguments"),
			RunE: func(*cobra.Command, []string) error { return nil },
		},
		a.pluginLoad(),
		a.pluginUnfit(),
		a.key("other", "Start a chat with the other pane of a window of two", a.chatWithOther),
		a.key("pick", "Start a chat with a pane that is picked from a list", a.chatWithPicked),
		a.key("with", "Start the chat that standard input describes", a.startPicked),
		a.key("ask", "Ask for a pane and a line, and send the last answer there", a.askOther),
		a.key("say", "Ask for a line to be said in the chat of a pane", a.askForLine),
		a.key("mute", "Mute a pane in its chat, or unmute it", a.muteHere),
		a.key("menu", "Note that the menu was opened", func(context.Context, origin) (string, error) { return "", nil }),
		a.key("stop", "End the chat of a pane", a.stopHere),
		a.key("again", "Restore the chat of a pane whose agent is back", a.takeUp),
		a.key("pause", "Stop everything", a.pauseAll),
		a.key("resume", "Resume everything, asking first about limits", a.resumeAll),
		a.key("told", "Show standard input as a notice", func(context.Context, origin) (string, error) { return a.handed(), nil }),
		a.key("waits", "Show what waits for a person", a.shows(ui.Waits)),
		a.key("chats", "Show the chats and panes", a.shows(ui.Chats)),
		a.key("inbox", "Show what is held, and decide about what awaits approval", a.shows(ui.Inbox)),
		a.key("log", "Show what happened", a.shows(ui.Log)),
		a.key("watch", "Show the chat of a pane, live", a.watchHere),
		a.key("edit", "Edit init.lua in a popup, and check it", a.editHere),
		a.key("jump", "Show the pane that waits longest, or the next one", a.jump),
		a.key("doctor", "Show problems and fix our own", a.doctorPage),
	)
	return cmd
}

// origin is the client at which a key was pressed, and the pane.
type origin struct {
	Client string // as tmux names it
	Pane   string // %7
}

// key makes the command of a key. The text of act, or its error, is shown at the client where the key was pressed; a
// second line of the text is the next step. A popup shows the error itself, and intercom-cli keeps it open: what is
// typed for the popup must not go to the pane below.
func (a *app) key(use, short string, act func(context.Context, origin) (string, error)) *cobra.Command {
	var given string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			o, err := a.origin(cmd.Context(), given)
			if err != nil {
				return err
			}
			a.pressed(cmd.Context(), o, api.PressedRequest{Menu: use == "menu"})
			text, err := act(cmd.Context(), o)
			// The person may have closed the popup: then the context has ended, and nothing else.
			ctx := context.WithoutCancel(cmd.Context())
			if err != nil {
				told := api.AsError(err)
				if a.inPopup() {
					return api.Errorf(told.Code, "%s", a.byKeys(ctx, told.Text)).WithHint("%s", a.byKeys(ctx, told.Hint))
				}
				if shown := a.show(ctx, o.Client, "intercom: "+a.byKeys(ctx, told.Text), a.byKeys(ctx, told.Hint), badNews); shown == nil {
					return exitCode(told.Code.Exit())
				}
				return err
			}
			if text == "" {
				return nil
			}
			text, more, _ := strings.Cut(text, "\n")
			return a.show(ctx, o.Client, a.byKeys(ctx, text), a.byKeys(ctx, more), goodNews)
		},
	}
	cmd.Flags().StringVar(&given, "origin", "", "`CLIENT PANE` of who pressed the key; else what "+originOption+" says")
	return cmd
}

// inPopup reports whether this runs in a popup. It discards what was typed there before an error: that does not answer
// the error.
func (a *app) inPopup() bool {
	in, _, err := a.ownTerminal()
	if err != nil {
		return false
	}
	if now, err := unix.IoctlGetTermios(int(in.Fd()), getTermios); err == nil {
		_ = unix.IoctlSetTermios(int(in.Fd()), setTermiosFlush, now)
	}
	return true
}

// pressed tells the sidecar at which client the key that runs this was pressed, shortly after that. If no sidecar runs,
// or the sidecar does not believe this, what is asked of it later is refused.
func (a *app) pressed(ctx context.Context, o origin, what api.PressedRequest) {
	a.Key = o.Client
	asking, cancel := context.WithTimeout(ctx, pressedWithin)
	defer cancel()
	if c, _, running, err := a.running(asking); err == nil && running {
		_, _ = api.Call(asking, c, api.Pressed, what)
	}
}

var originText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+) (%\d{1,10})$`) })

// origin returns who pressed the key: as given, or, if the binding could not pass it, as the binding has just written
// it down.
func (a *app) origin(ctx context.Context, given string) (origin, error) {
	if given == "" {
		options, err := tmux.Ask(ctx, a.tmuxOptions(), originOption)
		if err != nil {
			return origin{}, err
		}
		given = options[originOption]
	}
	m := originText().FindStringSubmatch(given)
	if m == nil {
		return origin{}, api.Errorf(api.CodeUsage, "origin %q: not a client and a pane", given).
			WithHint("this is run by the keys of the tmux plugin; intercom chat start does the same")
	}
	return origin{m[1], m[2]}, nil
}

func (a *app) tmuxOptions() tmux.Options { return tmux.Options{Socket: a.tmuxServer()} }

// show shows a line at a client, as several one after the other if it does not fit, until another key has something to
// show there.
func (a *app) show(ctx context.Context, client, text, more string, d time.Duration) error {
	terminals, err := tmux.Terminals(ctx, a.tmuxOptions())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(terminals, func(t tmux.Terminal) bool { return t.Name == client })
	if i < 0 {
		return fmt.Errorf("show %q: client %q is gone", text, client)
	}
	width := terminals[i].Width
	lines := service.Rows(text, width)
	if more != "" {
		if both := service.Rows(text+" → "+more, width); len(both) == 1 {
			lines = both
		} else {
			lines = append(lines, service.Rows("→ "+more, width)...)
		}
	}
	teller := client + " " + strconv.Itoa(os.Getpid())
	_ = tmux.SetOfServer(ctx, a.tmuxOptions(), shownOption, teller) // without it, the lines of another key may come between
	for n, line := range lines {
		if !terminals[i].UTF8 {
			line = inASCII.Replace(line)
		}
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(service.RowStays):
			}
			now, err := tmux.Ask(ctx, a.tmuxOptions(), shownOption)
			if last := now[shownOption]; err == nil && last != teller && strings.HasPrefix(last, client+" ") {
				return nil
			}
		}
		if err := tmux.Show(ctx, a.tmuxOptions(), client, line, d); err != nil {
			return err
		}
	}
	return nil
}

var inASCII = strings.NewReplacer("↔", "<->", "←", "<-", "→", "->", "…", "...", "·", "-", "⏎", "/")

// menuKey returns the keys with which a person opens the menu; "" if no key does.
func (a *app) menuKey(ctx context.Context) string { return comeback.MenuKey(ctx, a.tmuxOptions()) }

// byKeys replaces the commands in a text with keys of the plugin, for a person who uses those.
func (a *app) byKeys(ctx context.Context, text string) string {
	if !strings.Contains(text, "intercom ") {
		return text
	}
	return comeback.ByKeys(a.menuKey(ctx), text)
}

// sidecarOf returns a client for the sidecar, and the sidecar's status.
func (a *app) sidecarOf(ctx context.Context) (*api.Client, api.Status, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return nil, api.Status{}, err
	}
	status, err := quickStatus(ctx, c)
	return c, status, err
}

// chatOf returns the running chat of a pane, and the participant that the pane is in it.
func chatOf(s api.Status, pane string) (message.Chat, message.Participant, bool) {
	for _, session := range s.Sessions {
		if session.Pane != pane {
			continue
		}
		if chat, p, in := chatWith(s, session.ID); in {
			return chat, p, in
		}
	}
	return message.Chat{}, message.Participant{}, false
}

// chatWith returns the chat of a session, and the participant that the session is in it.
func chatWith(s api.Status, session message.ID) (message.Chat, message.Participant, bool) {
	for _, chat := range s.Chats {
		if chat.Aside {
			continue // a question is no chat
		}
		for _, p := range chat.Participants {
			if p.Peer == session && !p.Left {
				return chat, p, true
			}
		}
	}
	return message.Chat{}, message.Participant{}, false
}

// noChat returns the error of a key about the chat of a pane that is in none.
func (a *app) noChat(ctx context.Context, o origin) error {
	err := api.Errorf(api.CodeNotFound, "pane %s is in no chat", o.Pane)
	if key := a.menuKey(ctx); key != "" {
		return err.WithHint("%s, then c, starts one", key)
	}
	return err.WithHint("intercom chat start %s PANE", o.Pane)
}

// met describes a chat at its start: who hears whom.
func met(c message.Chat) string {
	var all []string
	for _, p := range c.Participants {
		if !p.Left {
			all = append(all, fmt.Sprintf("%s (%d)", p.Name, p.Number))
		}
	}
	return c.Between(all)
}

// startChat starts a chat between panes.
func (a *app) startChat(ctx context.Context, req api.StartChatRequest) (string, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return "", err
	}
	chat, err := quickly(ctx, c, api.StartChat, req)
	if err != nil {
		return "", a.aboutStart(ctx, err)
	}
	text := met(chat) + ": on; the next answer goes across"
	if key := a.menuKey(ctx); key != "" {
		text += "\n" + key + ", s says a line"
	}
	return text, nil
}

// aboutStart adds the key that ends a chat that is in the way.
func (a *app) aboutStart(ctx context.Context, err error) error {
	told := api.AsError(err)
	if key := a.menuKey(ctx); key != "" && told.Kind == api.InChat {
		return told.WithHint("%s, then x, in a pane of that chat ends it", key)
	}
	return err
}

// chatWithOther starts a chat with the other pane of the window.
func (a *app) chatWithOther(ctx context.Context, o origin) (string, error) {
	panes, err := tmux.ListPanes(ctx, a.tmuxOptions())
	if err != nil {
		return "", err
	}
	var others []string
	at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == o.Pane })
	for _, p := range panes {
		if at >= 0 && p.WindowID == panes[at].WindowID && p.ID != o.Pane {
			others = append(others, p.ID)
		}
	}
	if len(others) != 1 {
		return "", api.Errorf(api.CodeRefused, "this window no longer has exactly two panes").WithHint("press the key again")
	}
	return a.startChat(ctx, api.StartChatRequest{Panes: []string{o.Pane, others[0]}})
}

// takeThere sends the last answer of the presser's pane to the picked pane as a question.
func (a *app) takeThere(ctx context.Context, o origin, picked ui.Picked) (string, error) {
	if err := checkText(picked.Say); err != nil {
		return "", err
	}
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return "", err
	}
	asking, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	chat, err := api.Call(asking, c, api.Ask, api.AskRequest{From: o.Pane, To: picked.Panes[0], Say: picked.Say, Turns: picked.Turns})
	if err != nil {
		return "", a.aboutStart(ctx, err)
	}
	text := met(chat) + ": asked; the answer comes back here"
	if key := a.menuKey(ctx); key != "" {
		text += "\n" + key + ", l shows its progress"
	}
	return text, nil
}

// here returns the chat of the presser's pane, and the participant that the pane is in it.
func (a *app) here(ctx context.Context, o origin) (c *api.Client, chat message.Chat, me message.Participant, err error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return nil, chat, me, err
	}
	chat, me, in := chatOf(status, o.Pane)
	if !in {
		return nil, chat, me, a.noChat(ctx, o)
	}
	return c, chat, me, nil
}

func (a *app) muteHere(ctx context.Context, o origin) (string, error) {
	c, chat, me, err := a.here(ctx, o)
	if err != nil {
		return "", err
	}
	if _, err := quickly(ctx, c, api.MuteMember, api.MemberRequest{Chat: string(chat.ID), Pane: o.Pane, Off: !me.MaySpeak}); err != nil {
		return "", err
	}
	if me.MaySpeak {
		return fmt.Sprintf("%s (%d) is muted: it hears the others, but what it says is not passed on", me.Name, me.Number), nil
	}
	return fmt.Sprintf("%s (%d) is no longer muted", me.Name, me.Number), nil
}

func (a *app) stopHere(ctx context.Context, o origin) (string, error) {
	c, chat, _, err := a.here(ctx, o)
	if err != nil {
		return "", err
	}
	which, since := api.ChatRef{Chat: string(chat.ID)}, logged(ctx, c)
	ended, err := quickly(ctx, c, api.StopChat, which)
	if err != nil {
		return "", err
	}
	lost := ""
	if ids := undelivered(ctx, c, since, inChats(ended)); len(ids) > 0 {
		lost = "; " + undeliveredCount(ids)
	}
	return met(chat) + ": ended; nothing more is relayed" + lost + "\n" + strings.Join(unsent(ctx, c, which, ended), "; "), nil
}

func (a *app) pauseAll(ctx context.Context, _ origin) (string, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return "", err
	}
	all := api.ChatRef{All: true}
	chats, err := quickly(ctx, c, api.PauseChat, all)
	if err != nil {
		return "", err
	}
	next := resumeAll
	if key := a.menuKey(ctx); key != "" {
		next = key + ", r resumes"
	}
	return string(message.Stopped) + ": nothing is typed any more\n" + strings.Join(append(unsent(ctx, c, all, chats), next), "; "), nil
}

// resumeAll asks, if there is anything to ask, in the popup that it runs in: a popup that opened later could take a key
// that was meant for the pane for a yes.
func (a *app) resumeAll(ctx context.Context, o origin) (string, error) {
	chats, err := a.resume(ctx, api.ChatRef{All: true})
	text := "messages are typed again; chats resumed: " + fmt.Sprint(len(chats))
	if errors.Is(err, errUndone) {
		text, err = "intercom: "+errUndone.Text, nil
	}
	if err != nil {
		return "", err
	}
	return "", a.handOver(o, "told", text)
}

// askForLine asks in a popup for a line to say in the chat of the pane. If the chat is at a limit, the same popup asks
// whether it may go on: a popup that opened later could take a key that was meant for the pane for a yes. Without a yes
// the line waits with the rest.
func (a *app) askForLine(ctx context.Context, o origin) (string, error) {
	_, chat, _, err := a.here(ctx, o)
	if err != nil {
		return "", err
	}
	err = a.screen(ctx, o, ui.Start{About: met(chat), Say: func(ctx context.Context) (message.Chat, error) {
		_, chat, _, err := a.here(ctx, o)
		return chat, err
	}})
	return "", err
}

// doctorPage shows what the doctor finds, and lets it fix what is ours.
func (a *app) doctorPage(ctx context.Context, o origin) (string, error) {
	err := a.screen(ctx, o, ui.Start{Sheet: &ui.Sheet{
		Title: "intercom doctor", Keys: []string{"f fixes what is ours"},
		Render: func(ctx context.Context, width int, key string) (title, text string) {
			if key == "f" {
				return "intercom doctor --fix", a.inside(ctx, width, "doctor", "--fix")
			}
			return "intercom doctor", a.inside(ctx, width, "doctor")
		},
	}})
	return "", err
}

// inside runs another command of this program, and returns all that it prints for that width.
func (a *app) inside(ctx context.Context, width int, args ...string) string {
	var out strings.Builder
	e := a.env
	e.Width = width
	e.Args, e.Stdin, e.Stdout, e.Stderr = args, strings.NewReader(""), &out, &out
	if a.named {
		e.Args = append([]string{"--server=" + a.server}, args...)
	}
	run(ctx, e)
	return a.byKeys(ctx, out.String())
}
