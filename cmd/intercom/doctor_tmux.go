package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// tmuxProgram checks that there is a tmux program, and that it is new enough.
func tmuxProgram(_ context.Context, x *patient) []finding {
	const id = "tmux_program"
	switch {
	case errors.Is(x.programErr, tmux.ErrNoProgram):
		return []finding{{ID: id, Level: problem, Text: "no tmux program is in $PATH", Hint: installTmux}}
	case x.programErr != nil:
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("the tmux program does not say its version: %v", x.programErr)}}
	case tmux.TooOld(x.program):
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("tmux %s is too old", x.program), Hint: "install tmux 3.2a or newer"}}
	}
	return []finding{{ID: id, Level: fine, Text: "tmux " + x.program + triedByHand(x.program)}}
}

// tmuxServer checks whether the server that is meant runs, and its version, which may be older than that of a program
// that was updated since.
func tmuxServer(_ context.Context, x *patient) []finding {
	const id = "tmux_server"
	server := x.tmuxServer()
	version := x.health.Info.Version
	switch {
	case server == "":
		return []finding{{ID: id, Level: note, Text: "no tmux server is named, and this is not a pane of one", Hint: "run it inside tmux, or name the server's socket: --server SOCKET"}}
	case x.programErr != nil:
		return nil
	case errors.Is(x.healthErr, tmux.ErrNoServer):
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("no tmux server runs at %q", server), Hint: hintOf(noServer(x.paths))}}
	case wrongTmux(x.healthErr) != nil:
		other := wrongTmux(x.healthErr)
		return []finding{{ID: id, Level: problem, Text: other.Error(), Hint: hintOf(other)}}
	case x.healthErr != nil:
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("the tmux server does not answer: %v", x.healthErr), Hint: tmuxHangs}}
	case tmux.TooOld(version):
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("the tmux server at %q runs version %s, which is too old", server, version), Hint: "end it and start it with tmux 3.2a or newer"}}
	case version != x.program:
		return []finding{{
			ID: id, Level: note, Text: fmt.Sprintf("the tmux server at %q runs version %s, the program is %s", server, version, x.program),
			Hint: "the server can do only what its own version can, until it is restarted",
		}}
	}
	return []finding{{ID: id, Level: fine, Text: fmt.Sprintf("the tmux server at %q runs version %s%s, process %d", server, version, triedByHand(version), x.health.Info.PID)}}
}

// triedByHand marks the versions that the tests do not run all the time.
func triedByHand(version string) string {
	if version == "3.2" || version == "3.2a" {
		return " (tested by hand)"
	}
	return ""
}

// transport tells how tmux is reached and why, and which trigger says that a pane was written to.
func transport(_ context.Context, x *patient) []finding {
	const id = "transport"
	if s := x.status; s != nil && s.Transport != "" {
		text := fmt.Sprintf("tmux is reached by %s", s.Transport)
		if s.Why != "" {
			text += " (" + s.Why + ")"
		}
		f := triggered(finding{ID: id, Level: fine, Text: text + ", panes are watched by " + s.Trigger}, s.Trigger)
		if asked := x.health.Options[daemon.TransportOption]; asked != "" && asked != "auto" && asked != s.Transport && x.Getenv("INTERCOM_TRANSPORT") == "" {
			f.Level, f.Hint = note, fmt.Sprintf("%s asks for %s: a sidecar reads that when it starts; intercom down, then intercom up", daemon.TransportOption, asked)
		}
		return []finding{f}
	}
	if !x.server() {
		return nil
	}
	asked := tmux.Options{Transport: cmp.Or(x.Getenv("INTERCOM_TRANSPORT"), x.health.Options[daemon.TransportOption]), Trigger: x.Getenv("INTERCOM_TRIGGER")}
	way, why, trigger, err := tmux.Choose(asked, x.health.Info.Version)
	if err != nil {
		return []finding{{ID: id, Level: problem, Text: err.Error(), Hint: "tmux set -g " + daemon.TransportOption + " auto; INTERCOM_TRANSPORT takes precedence if it is set"}}
	}
	return []finding{triggered(finding{
		ID: id, Level: fine, Text: fmt.Sprintf("tmux would be reached by %s (%s), panes would be watched by %s", way, why, trigger),
	}, trigger)}
}

// triggered adds to a finding what polling costs.
func triggered(f finding, trigger string) finding {
	if trigger == "polling" {
		f.Level, f.Hint = note, "changes are seen a little later, and at a higher cost; on Linux there is inotify for that"
	}
	return f
}

// controlClient explains a client that a person sees in lists and did not attach.
func controlClient(_ context.Context, x *patient) []finding {
	if x.status == nil || x.status.Transport != "control" {
		return nil
	}
	return []finding{{
		ID: "control_client", Level: note, Text: "the sidecar is attached as a control client: one session counts one more client (session_attached), and tmux list-clients lists it",
		Hint: "tmux set -g " + daemon.TransportOption + " process, then intercom down and up, avoids that",
	}}
}

// utf8Locale checks the locale that programs started here get.
func utf8Locale(_ context.Context, x *patient) []finding {
	const id = "utf8_locale"
	name, value := "LANG", ""
	for _, n := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := x.Getenv(n); v != "" {
			name, value = n, v
			break
		}
	}
	if isUTF8(value) {
		return []finding{{ID: id, Level: fine, Text: "the locale is UTF-8 (" + name + "=" + value + ")"}}
	}
	text := "the locale is not UTF-8 (" + name + "=" + value + ")"
	if value == "" {
		text = "no locale is set (LC_ALL, LC_CTYPE, LANG)"
	}
	return []finding{{ID: id, Level: note, Text: text, Hint: "programs in the panes may garble characters; export LANG=C.UTF-8, or another that locale -a lists"}}
}

func isUTF8(locale string) bool {
	l := strings.ToLower(locale)
	return strings.Contains(l, "utf-8") || strings.Contains(l, "utf8")
}

// utf8Clients looks for terminals that cannot show more than ASCII, according to tmux.
func utf8Clients(_ context.Context, x *patient) []finding {
	const id = "utf8_clients"
	if !x.server() {
		return nil
	}
	var poor []string
	terminals := 0
	for _, v := range x.health.Viewers {
		if v.Control {
			continue
		}
		terminals++
		if !v.UTF8 {
			poor = append(poor, v.Name)
		}
	}
	switch {
	case len(poor) > 0:
		return []finding{{
			ID: id, Level: problem, Text: "tmux shows no UTF-8 at " + strings.Join(poor, ", ") + ": anything but ASCII appears there as _",
			Hint: "detach and attach with tmux -u, or in a UTF-8 locale",
		}}
	case terminals > 0:
		return []finding{{ID: id, Level: fine, Text: fmt.Sprintf("attached terminals: %d, all with UTF-8", terminals)}}
	}
	return nil
}

// publishedSocket checks whether a sidecar listens on the socket that the tmux server names as its sidecar's.
func publishedSocket(ctx context.Context, x *patient) []finding {
	const id = "published"
	if !x.server() {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	socket, err := published(asking, x.tmuxServer())
	switch {
	case err != nil:
		return []finding{{ID: id, Level: note, Text: err.Error(), Hint: "look again in a moment"}}
	case socket == "" && x.status != nil && x.status.Server != "":
		return []finding{{
			ID: id, Level: note, Text: "the tmux server does not name its sidecar's socket (" + daemon.SocketOption + ")",
			Hint: "programs in another environment cannot find it; intercom down, then intercom up, names it again",
		}}
	case socket == "":
		return nil
	case (&api.Client{Socket: socket}).Ping(asking) == nil:
		return []finding{{ID: id, Level: fine, Text: "the tmux server names its sidecar's socket: " + socket}}
	}
	text := fmt.Sprintf("the tmux server names %q as its sidecar's socket, and nothing listens there", socket)
	if !free(strings.TrimSuffix(socket, ".sock") + ".lock") {
		// Its sidecar lives. If commands could not find it, they would start another beside it.
		return []finding{{ID: id, Level: problem, Text: text, Hint: "its sidecar runs, and fixes that or ends by itself within 2 s; look again then"}}
	}
	return []finding{{
		ID: id, Level: problem, Text: text,
		Hint: "tmux set -su " + daemon.SocketOption,
		mend: func(ctx context.Context) error {
			gone, err := tmux.Withdraw(ctx, tmux.Options{Socket: x.tmuxServer()}, daemon.SocketOption, socket)
			if err == nil && !gone {
				err = fmt.Errorf("tmux has not removed %s", daemon.SocketOption)
			}
			return err
		},
	}}
}

// tmuxHooks looks for hooks and aliases of the person's tmux that run with the commands that type a message.
func tmuxHooks(ctx context.Context, x *patient) []finding {
	if !x.server() {
		return nil
	}
	hooks, err := tmux.Hooks(ctx, x.tmuxOptions())
	if err != nil {
		return nil // tmuxServer reports a server that does not answer
	}
	var all []finding
	for _, h := range hooks {
		if strings.HasPrefix(h.Name, "command-alias") {
			all = append(all, finding{
				ID: "tmux_hooks", Level: note,
				Text: fmt.Sprintf("the tmux option %s changes a command with which messages are typed: %s", h.Name, h.Runs),
				Hint: fmt.Sprintf("if messages are held or uncertain, remove it: tmux set-option -su '%s'", h.Name),
			})
			continue
		}
		of, where := "-gu", ""
		if h.Session != "" {
			of, where = "-u -t '"+h.Session+"'", " of session "+h.Session
		}
		all = append(all, finding{
			ID: "tmux_hooks", Level: note,
			Text: fmt.Sprintf("the tmux hook %s%s runs whenever a message is typed: %s", h.Name, where, h.Runs),
			Hint: fmt.Sprintf("if messages are held or uncertain, remove it: tmux set-hook %s %s", of, h.Name),
		})
	}
	return all
}

// pluginKeys looks for keys of the plugin that are bound to something else.
func pluginKeys(ctx context.Context, x *patient) []finding {
	const id = "plugin_keys"
	if !x.server() {
		return nil
	}
	options, err := tmux.Ask(ctx, x.tmuxOptions(), rootOption, keysOption, takenOption)
	if err != nil || options[rootOption] == "" {
		return nil // the plugin is not loaded
	}
	var all []finding
	for _, key := range strings.Fields(options[takenOption]) {
		all = append(all, finding{
			ID: id, Level: note, Text: fmt.Sprintf("prefix + %s was already bound to something else, and was left alone", key),
			Hint: fmt.Sprintf("tmux list-keys -T prefix shows it; set -g %s KEY, or %s or %s KEY, before the plugin is loaded chooses another key, or none", menuKeyOption, chatKeyOption, jumpKeyOption),
		})
	}
	bound, err := tmux.PrefixKeys(ctx, x.tmuxOptions())
	if err != nil {
		return all // tmuxServer reports a server that does not answer
	}
	// A key may have other names than the one by which it was bound. If tmux lists it by another name, it counts as the
	// plugin's.
	var keys []string
	for _, key := range strings.Fields(options[keysOption]) {
		if ours, is := bound[key]; !is || ours {
			keys = append(keys, key)
			continue
		}
		all = append(all, finding{
			ID: id, Level: note, Text: fmt.Sprintf("prefix + %s was the plugin's, and was bound to something else since", key),
			Hint: "tmux list-keys -T prefix shows it; without that binding, load the plugin again: tmux run-shell " + plainLine(options[rootOption]) + "/intercom.tmux",
		})
	}
	if len(all) == 0 && len(keys) > 0 {
		all = append(all, finding{ID: id, Level: fine, Text: "keys of the plugin: prefix + " + strings.Join(keys, ", ")})
	}
	return all
}

// pluginProgram tells why the plugin has no program of its own revision: Go may be missing, for example.
func pluginProgram(ctx context.Context, x *patient) []finding {
	const id = "plugin_program"
	if !x.server() {
		return nil
	}
	options, err := tmux.Ask(ctx, x.tmuxOptions(), rootOption, troubleOption, builderOption, usedOption)
	switch {
	case err != nil || options[rootOption] == "":
		return nil
	case options[builderOption] != "" && !stillBuilds(options[builderOption]):
		return []finding{{
			ID: id, Level: problem, Text: "the plugin has no program of its own revision: its build or download was interrupted",
			Hint: "tmux run-shell " + plaintext.ShellWord(options[rootOption]+"/intercom.tmux") + " begins anew",
		}}
	case options[troubleOption] != "":
		return []finding{{ID: id, Level: problem, Text: "the plugin has no program of its own revision: " + options[troubleOption]}}
	case options[usedOption] == "":
		return []finding{{ID: id, Level: note, Text: "the plugin is still looking for its program"}}
	}
	if _, err := os.Stat(options[rootOption]); errors.Is(err, fs.ErrNotExist) {
		return []finding{{
			ID: id, Level: note, Text: fmt.Sprintf("the plugin is gone from %s; its keys still run %s until tmux ends", options[rootOption], options[usedOption]),
			Hint: "restore it, or remove its keys: intercom uninstall",
		}}
	}
	return []finding{{ID: id, Level: fine, Text: "the plugin runs " + options[usedOption]}}
}

// stillBuilds reports whether the process PID-BEGUN, as program.sh names it, still runs. If its start time is unknown,
// it reports whether any process has that number.
func stillBuilds(named string) bool {
	number, began, _ := strings.Cut(named, "-")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	start, err := process.Start(pid)
	if began == "" || errors.Is(err, process.ErrUnsupported) {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return err == nil && strconv.FormatUint(start, 10) == began
}

// platform says what systems other than Linux do not provide.
func platform(context.Context, *patient) []finding { return degradedOn(runtime.GOOS) }

func degradedOn(system string) []finding {
	if system == "linux" {
		return nil
	}
	missing := []string{"no inotify: panes and transcripts are polled", "less is known of processes, so agents are recognised by name alone, and what an agent starts is taken for a person's"}
	if system == "openbsd" || system == "netbsd" || system == "dragonfly" {
		missing = append(missing, "the system does not tell who connects to a socket; only its private directory keeps others out")
	}
	return []finding{{
		ID: "platform", Level: note, Text: "on " + system + " less is promised than on Linux: " + strings.Join(missing, "; "),
		Hint: "Linux is what all of this is tested on",
	}}
}
