#!/bin/sh
# load.sh ROOT: binds the keys, gets the program of this revision and starts the sidecar. It runs in the background
# each time tmux loads its configuration, often twice; a second run changes nothing.
set -u
root=$1
here=$root/tmux-plugin

# -N: otherwise some commands would start a new server if this one has ended meanwhile.
tmux() { command tmux -N "$@"; }

# option NAME DEFAULT: the value that a person has set, even if it is empty, or the default.
option() {
	if [ -n "$(tmux show-options -gq "$1")" ]; then
		tmux show-options -gqv "$1"
	else
		printf '%s\n' "$2"
	fi
}

# The version of the server counts: the program may have been updated since the server started.
version=$(command tmux display-message -p '#{version}' 2>/dev/null) || exit 0
case $version in
[0-2].* | next-[0-2].* | 3.[01] | 3.[01][!0-9]* | next-3.[01]) old=yes ;;
*) old='' ;;
esac
if [ -n "$old" ]; then
	"$here/notice.sh" "intercom needs tmux 3.2a or newer, and this server is $version: no keys bound"
	exit 0
fi

# The path becomes part of bindings, which tmux and a shell parse.
case $root in
*[\'\"\\\$\#\`%]* | *'
'*)
	"$here/notice.sh" "intercom: no keys bound: move the plugin to a path without quotes, \\, \$, # and %: $root"
	exit 0
	;;
esac

# Rebind our own keys; do not touch the keys of others.
commands="set-option -g @intercom-root '$root'
"
chat_key=$(option @intercom-chat-key @)
jump_key=$(option @intercom-jump-key J)
menu_key=$(option @intercom-menu-key B)
before=$(tmux show-options -gqv @intercom-keys)
set -f

# What each key does after the prefix: ours=KEY, theirs=KEY or free=KEY; words that are no keys are left out. list-keys
# knows one name for each key, while people use several. To find that name, each key is bound in a table of our own.
# All tables are listed, since tmux 3.7 cannot list a single key.
does=$(
	for key in $chat_key $jump_key $menu_key $before; do printf '%s\n' "$key"; done | awk '
		{
			gsub(/\047/, "\047\"\047\"\047")
			print "bind-key -T intercom-probe-" NR " \047" $0 "\047 display-message"
		}
		END {
			print "list-keys"
			for (i = 1; i <= NR; i++) print "unbind-key -a -T intercom-probe-" i
		}' |
		tmux source-file - 2>/dev/null |
		KEYS="$chat_key $jump_key $menu_key $before" awk '
			{
				for (i = 2; i < NF && $i != "-T"; i++);
				table = $(i + 1)
				if (sub(/^intercom-probe-/, "", table)) name[table] = $(i + 2)
				else if (table == "prefix") does[$(i + 2)] = index($0, "@intercom-origin") ? "ours" : "theirs"
			}
			END {
				n = split(ENVIRON["KEYS"], keys)
				for (i = 1; i <= n; i++)
					if (i in name) printf "%s=%s ", (name[i] in does) ? does[name[i]] : "free", keys[i]
			}'
)

# quote KEY: quotes a key for tmux. No key contains both kinds of quotes.
quote() {
	case $1 in
	*\'*) printf '"%s"' "$1" ;;
	*) printf "'%s'" "$1" ;;
	esac
}

for key in $before; do
	case " $does" in
	*" ours=$key "*) commands="${commands}unbind-key -T prefix $(quote "$key")
" ;;
	esac
done
bound=''
taken=''
blank="' '" # a quoted blank, which joins two quoted keys into one word

# bind KEYS NOTE COMMANDS: binds each of KEYS in the prefix table. It binds nothing if KEYS is none or empty.
bind() {
	[ "$1" != none ] || return
	for key in $1; do
		quoted=$(quote "$key")
		case " $does" in
		*" free=$key "* | *" ours=$key "*) ;; # ours: or another load has just bound it
		*" theirs=$key "*)
			taken=$taken$blank$quoted
			continue
			;;
		*) continue ;;
		esac
		bound=$bound$blank$quoted
		commands="${commands}bind-key -T prefix -N 'intercom: $2' $quoted set-option -gF @intercom-origin '#{client_name} #{pane_id}' \\; $3
"
	done
}

# Keys and people call a copy of the script that remains when the plugin's directory is moved or removed.
cli=$here/intercom-cli
data=${XDG_DATA_HOME:-}
case $data in
/*) ;;
*) data=${HOME:-}/.local/share ;;
esac
store=$data/intercom/bin
case $store in
*[\'\"\\\$\#\`%]*) ;;
*)
	if cmp -s "$cli" "$store/intercom" 2>/dev/null ||
		{ mkdir -p "$store" && cp "$cli" "$store/intercom.$$" && mv -f "$store/intercom.$$" "$store/intercom"; } 2>/dev/null; then
		cli=$store/intercom
	fi
	;;
esac

# tmux keeps the keys that it read together with the key that opens a popup until the popup closes, and would then send
# them to the pane. Look them up in a table that drops them instead; the end of the queue leaves that table. Before
# 3.7, tmux takes keys of one read for a paste from the third on, and does not look those up.
calm="switch-client -T '#{key-table}'"
dropped="switch-client -T intercom ; run-shell -b -C \"$calm\""

# tmux expands formats in the commands of shells and menus first, but not in the command of a popup that a key opens.
# That command therefore reads @intercom-origin.
picker="display-popup -E -w 90% -h 90% '$cli' plugin pick ; $dropped"
origin="--origin '#{client_name} #{pane_id}'"
# Check first whether the two panes of a window can chat, before anything happens at the client: a popup that opened
# later would take keys that are meant for the pane.
bind "$chat_key" 'chat with another pane' \
	"if-shell -F '#{==:#{window_panes},2}' { if-shell \"'$cli' plugin unfit $origin >/dev/null 2>&1\" { $picker } { run-shell -b \"'$cli' plugin other $origin >/dev/null 2>&1 || :\" } } { $picker }"

# The key that goes to the pane that waits for a person.
bind "$jump_key" 'the pane that waits for you' \
	"run-shell -b \"'$cli' plugin jump $origin >/dev/null 2>&1 || :\""

# item NAME KEY COMMAND: a menu entry that runs a command of the program and reports the result.
item() { printf " '%s' %s { run-shell -b \"'$cli' plugin %s $origin >/dev/null 2>&1 || :\" }" "$1" "$2" "$3"; }
# popup NAME KEY COMMAND: a menu entry that opens a popup.
popup() { printf " '%s' %s { $calm ; display-popup -E -w 90%% -h 90%% '$cli' plugin %s $origin ; $dropped }" "$1" "$2" "$3"; }
# where COMMAND NAME: the name of an entry that exists only if the program has the command.
where() { printf '#{?#{m:* %s *,#{@intercom-can}},%s,}' "$1" "$2"; }

# While a restarted agent is back, panes outside any chat show an entry to restore the chat instead of mute: there is
# no room for both.
again='#{&&:#{!=:#{@intercom-back},},#{?#{m:* #{pane_id} *,#{@intercom-back}},0,1}}'
menu=$(
	popup 'chat with…' c pick
	popup 'say something in the chat…' s say
	popup "$(where ask 'ask another pane…')" a ask
	item "#{?$again,,mute or unmute this pane}" m mute
	item "#{?$again,restore the chat,}" g again
	item 'stop the chat' x stop
	popup 'chats' l chats
	popup 'watch the chat' w watch
	popup "$(where inbox inbox)" i inbox
	popup "$(where policy 'edit the policies…')" e edit
	item 'stop everything' p pause
	popup 'resume everything' r resume
	popup 'doctor' d doctor
)
# tmux does not show a menu whose title does not fit.
status='#{?#{&&:#{!=:#{@intercom-status},},#{e|>=:#{client_width},40}},#{=25:@intercom-status} ,}'
# tmux does not count keys pressed in a menu, so the key that opens it is reported instead.
bind "$menu_key" 'menu' \
	"run-shell -b \"'$cli' plugin menu $origin >/dev/null 2>&1 || :\" \\; if-shell -F '#{e|<:#{client_height},15}' { display-message 'intercom: the menu needs a terminal of at least 15 rows' } \\; display-menu -T '#[align=centre] intercom $status' -x C -y C$menu \\; switch-client -T intercom \\; run-shell -b -C \"$calm\""
set +f

if [ -n "$bound" ]; then
	commands="bind-key -T intercom Any switch-client -T intercom
$commands"
else
	tmux unbind-key -T intercom Any 2>/dev/null
fi

printf "%sset-option -g @intercom-keys ''%s\nset-option -g @intercom-taken ''%s\n" "$commands" "${bound#"$blank"}" "${taken#"$blank"}" |
	tmux source-file - || exit 0

bin=$("$here/program.sh" "$root")
now=$(tmux show-options -gqv @intercom-root)
if [ "$now" != "$root" ]; then # uninstalled meanwhile, or loaded from another place
	[ -n "$now" ] || tmux set-option -gqu @intercom-trouble \; set-option -gqu @intercom-builder
	exit 0
fi
[ -n "$bin" ] || exit 0
tmux set-option -g @intercom-bin-used "$bin" \; set-option -gqu @intercom-trouble \; set-option -gqu @intercom-builder || exit 0
ln -s "$bin" "$store/used.$$" 2>/dev/null && mv -f "$store/used.$$" "$store/used" # for use outside of tmux
TMUX_PANE='' exec "$bin" plugin load
