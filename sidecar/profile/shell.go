package profile

import "strings"

// Refuse says whether a program with that process name must not be adopted as a line program nor be typed into,
// because it executes its input, treats keys as commands, or passes the keyboard on to another program. The name
// may be a path, have the dash of a login shell or a version ("-bash", "python3.12"), or be cut at 15 bytes by the
// system. The hint is the next step for a person.
func Refuse(name string) (why, hint string, refused bool) {
	kind := kindNamed(name)
	if kind == nil {
		return "", "", false
	}
	shown, _, _ := strings.Cut(strings.TrimPrefix(name, "-"), ":")
	return shown + " is " + kind.is, kind.hint, true
}

// RefuseRun is Refuse for a process of that name that executes a file named executable. Both names count: a process
// may call itself anything, and the interpreter of Node 24 is called MainThread. A script started by its own name
// (#!) bears that name while its interpreter is executed, and counts as itself; args reveals that.
func RefuseRun(name, executable string, args func() []string) (why, hint string, refused bool) {
	if why, hint, refused = Refuse(name); refused || kindNamed(executable) == nil || isScript(name, args()) {
		return why, hint, refused
	}
	return Refuse(executable)
}

// Starter says whether a process of that name, or that executes a file of that name, is one that starts agents: a
// shell or an interpreter, which waits until the agent ends. A program that is not refused counts as one, too.
func Starter(name, executable string) bool {
	kind := kindNamed(name)
	if kind == nil {
		kind = kindNamed(executable)
	}
	return kind == nil || kind.starts
}

// isScript reports whether an interpreter with these arguments only runs the script that the process is named
// after.
func isScript(name string, args []string) bool {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case !strings.HasPrefix(arg, "-"):
			base := arg[strings.LastIndexByte(arg, '/')+1:]
			return base != "" && base[:min(len(base), nameMax)] == name
		case len(arg) <= 4 && strings.Contains(arg, "i"), arg == "--interactive":
			return false // -i, -qi: it continues to read after the script's end
		}
	}
	return false
}

// nameMax is how many bytes of a name Linux keeps.
const nameMax = 15

// kindNamed returns the kind of a program of that name, or nil if it is not refused.
func kindNamed(name string) *kind {
	key := processName(name)
	if key == "" {
		return nil
	}
	for _, variant := range variants {
		key = strings.TrimSuffix(key, variant)
	}
	if i := strings.LastIndexByte(key, '-'); i > 0 && crossed[key[i+1:]] {
		key = key[i+1:] // x86_64-linux-gnu-gdb
	}
	if kind := kindOf[key]; kind != nil {
		return kind
	}
	if threads, ok := strings.CutSuffix(key, "t"); ok && strings.TrimRight(threads, digits) != threads {
		key = threads // python3.13t
	}
	return kindOf[strings.TrimRight(key, digits+".-_")]
}

const digits = "0123456789"

// variants are suffixes that builds of a program add to its name. crossed lists programs whose name may follow that
// of a machine.
var (
	variants = []string{"-dbg", "-debug", "-multiarch", "-minimal", "-static", ".static", ".exe", "-intel64", "-arm64"}
	crossed  = map[string]bool{"gdb": true, "lldb": true}
)

// processName reduces a name to the form in the table.
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
	starts   bool   // it starts programs and waits for them
	names    string // separated by blanks, lower case, no version
}

var kinds = []kind{
	{
		is:   "a shell: it would run what is typed into it",
		hint: "start the agent in the pane first, then adopt the pane", starts: true,
		names: "sh bash rbash dash ash zsh fish ksh mksh pdksh oksh tcsh csh yash posh rc es osh ysh oil nu nushell " +
			"elvish xonsh pwsh powershell busybox toybox murex ion slsh hush sash git-shell",
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
		is:   "a connection to another program: what reads your text cannot be seen from here",
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
		hint: "if it only runs a program that reads lines, start that as an executable of its own name, whose #! line names the interpreter itself: #!/usr/bin/python3, without env", starts: true,
		names: "python pythonw pypy ipython bpython ptpython jupyter-consol node nodejs deno bun ts-node ruby jruby irb pry perl raku php psysh " +
			"lua luajit tclsh wish guile racket sbcl clisp ecl clojure clj bb lein chez scheme gosh " +
			"ghc ghci stack cabal ocaml utop ocamlrun erl beam.smp iex elixir scala scala-cli jshell groovysh kotlin java " +
			"julia r octave octave-cli maxima gp gnuplot swipl prolog gforth awk gawk mawk m4 gore gomacro evcxr cling root nix make bpftrace micropython qjs dotnet",
	},
	{ // nobody writes line-reading programs in these
		is:   "an interpreter: it would execute what is typed into it",
		hint: "this one cannot be adopted; agents can, and programs that only read lines of text", starts: true,
		names: "bc dc units qalc calc psql mysql mariadb sqlite sqlite3 duckdb usql pgcli mycli litecli redis-cli valkey-cli mongo mongosh " +
			"clickhouse clickhouse-cli cqlsh influx sqlplus sqlcmd gdb lldb dlv pdb rr jdb radare r2 nslookup nft openssl bluetoothctl debugfs fdisk parted gdisk",
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
