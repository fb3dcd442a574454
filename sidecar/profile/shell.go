package profile

import "strings"

// Refuse says whether a program of that process name must not be adopted as a line
// program, nor be typed into: what executes its input, takes keys as commands, or hands
// the keyboard on to somebody else. The name may be a path, carry the dash of a login
// shell or a version ("-bash", "python3.12"); the system may have cut it at 15 bytes.
// The hint is the next step for a person.
func Refuse(name string) (why, hint string, refused bool) {
	key := processName(name)
	kind, ok := kindOf[key]
	if !ok {
		kind, ok = kindOf[strings.TrimRight(key, "0123456789.-")]
	}
	if !ok {
		return "", "", false
	}
	return strings.TrimPrefix(name, "-") + " is " + kind.is, kind.hint, true
}

// processName reduces a name to the form in which the table has it.
func processName(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimPrefix(name, "-")
	if i := strings.IndexByte(name, ':'); i > 0 { // "tmux: client", "sshd: user"
		name = name[:i]
	}
	return strings.ToLower(strings.TrimSpace(name))
}

// kind is a group of programs that are refused for the same reason.
type kind struct {
	is, hint string
	names    string // separated by blanks, lower case, no version
}

var kinds = []kind{
	{
		is:   "a shell: it would run what is typed into it",
		hint: "start the agent in the pane first, then adopt the pane",
		names: "sh bash rbash dash ash zsh fish ksh mksh pdksh oksh tcsh csh yash posh rc es osh ysh oil nu nushell " +
			"elvish xonsh pwsh powershell busybox toybox murex ion slsh",
	},
	{
		is:   "an editor: keys are commands to it",
		hint: "close the editor, or adopt the pane of the agent itself",
		names: "vi vim nvim view vimdiff nvimdiff rvim rview vim.basic vim.tiny vim.nox vim.gtk vim.athena ex ed red " +
			"emacs emacs-nox emacs-gtk emacs-x emacs-lucid emacsclient nano rnano pico micro hx helix kak joe jmacs mg zile ne jed vis amp tilde " +
			"mc mcedit mcview ranger nnn lf vifm sc-im",
	},
	{
		is:    "a pager: keys are commands to it",
		hint:  "leave the pager, or adopt the pane of the agent itself",
		names: "less more most pg man info bat batcat lv w3m lynx links elinks tig top htop btop atop watch fzf sk dialog whiptail",
	},
	{
		is:   "a door to another program: who reads there cannot be seen from here",
		hint: "run intercom where that program runs",
		names: "ssh slogin autossh sshpass dropbear dbclient mosh mosh-client et telnet rlogin rsh ftp sftp lftp nc ncat netcat socat " +
			"minicom picocom cu docker podman nerdctl kubectl oc lxc incus machinectl nsenter unshare chroot vagrant virsh " +
			"su sudo doas pkexec runuser login passwd gpg pinentry pinentry-curses pinentry-tty",
	},
	{
		is:    "a multiplexer or recorder: the program that reads is inside it",
		hint:  "adopt the pane inside it by a sidecar of its own server, or start the agent without it",
		names: "tmux screen zellij dvtm abduco dtach byobu mtm script asciinema ttyrec expect unbuffer rlwrap rlfe",
	},
	{
		is:   "an interpreter: it would execute what is typed into it",
		hint: "if it only runs a program that reads lines, start that as an executable of its own name (a #! line, not as an argument)",
		names: "python pythonw pypy ipython bpython ptpython jupyter-consol node nodejs deno bun ts-node ruby jruby irb pry perl raku php psysh " +
			"lua luajit tclsh wish guile racket sbcl clisp ecl clojure clj bb lein chez scheme gosh " +
			"ghc ghci stack cabal ocaml utop ocamlrun erl beam.smp iex elixir scala scala-cli jshell groovysh kotlin java " +
			"julia r octave octave-cli maxima gp gnuplot swipl prolog gforth bc dc units qalc calc awk gawk mawk m4 " +
			"psql mysql mariadb sqlite sqlite3 duckdb usql pgcli mycli litecli redis-cli valkey-cli mongo mongosh clickhouse clickhouse-cli " +
			"cqlsh influx sqlplus sqlcmd gdb lldb dlv pdb rr jdb radare r2 gore gomacro evcxr cling root nix make debugfs fdisk parted gdisk",
	},
}

var kindOf = func() map[string]*kind {
	m := make(map[string]*kind, 256)
	for i := range kinds {
		for name := range strings.FieldsSeq(kinds[i].names) {
			m[name] = &kinds[i]
		}
	}
	return m
}()
