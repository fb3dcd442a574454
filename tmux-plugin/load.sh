#!/bin/sh
# load.sh ROOT: binds the keys, gets the program of this revision and starts the sidecar. Runs in the background, at every
# load of tmux's configuration, often twice; a second run changes nothing.
set -u
root=$1
here=$root/tmux-plugin

# -N: some commands would start a server that has ended meanwhile.
tmux() { command tmux -N "$@"; }

# option NAME DEFAULT: what a person has set, even if it is empty.
option() {
	if [ -n "$(tmux show-options -gq "$1")" ]; then
		tmux show-options -gqv "$1"
	else
		printf '%s\n' "$2"
	fi
}

# The server's own version counts: the program may have been updated since it was started.
version=$(command tmux display-message -p '#{version}' 2>/dev/null) || exit 0
case $version in
[0-2].* | next-[0-2].* | 3.[01] | 3.[01][!0-9]* | next-3.[01]) old=yes ;;
*) old='' ;;
esac
if [ -n "$old" ]; then
	"$here/notice.sh" "intercom needs tmux 3.2a or newer, and this server is $version: no keys bound"
	exit 0
fi

# The path is written into bindings, which tmux and a shell read.
case $root in
*[\'\"\\\$\#\`%]* | *'
'*)
	"$here/notice.sh" "intercom: no keys bound: move the plugin to a path without quotes, \\, \$, # and %: $root"
	exit 0
	;;
esac

# Rebind our own keys; leave the keys of others alone.
commands="set-option -g @intercom-root '$root'
"
chat_key=$(option @intercom-chat-key @)
jump_key=$(option @intercom-jump-key J)
menu_key=$(option @intercom-menu-key B)
before=$(tmux show-options -gqv @intercom-keys)
set -f

# What each key does after the prefix: ours=KEY, theirs=KEY, or free=KEY; nothing of what is no key. list-keys has one name
# for each key, and people several: the name is that of the key where it was bound in a table of our own. All tables are listed,
# since tmux 3.7 does not tell of one key alone.
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

# quote KEY: as tmux reads it. No key has both quotes.
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
blank="' '" # between two that are quoted, as in one word

# bind KEYS NOTE COMMANDS: a key of the prefix table for each of KEYS, none and nothing for no key at all.
bind() {
	[ "$1" != none ] || return
	for key in $1; do
		quoted=$(quote "$key")
		case " $does" in
		*" free=$key "* | *" ours=$key "*) ;; # or another load has just bound it
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

# Keys, and people, call a copy that stays when the plugin's directory is moved or removed.
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

# tmux holds the keys that it read together with the one that opens a popup until the popup is closed, and would give them to
# the pane then. They are looked up in a table that drops them; the end of the queue leaves it. tmux before 3.7 takes keys of one
# read for a paste from the third on, and looks up none of those.
calm="switch-client -T '#{key-table}'"
dropped="switch-client -T intercom ; run-shell -b -C \"$calm\""

# What a shell runs, and what a menu runs, is expanded first; the command of a popup that a key opens is not, which
# therefore asks for @intercom-origin.
picker="display-popup -E -w 90% -h 90% '$cli' plugin pick ; $dropped"
origin="--origin '#{client_name} #{pane_id}'"
# Whether the two panes of a window can chat is asked before anything else happens at the client: a popup that opened later would
# take keys that are meant for the pane.
bind "$chat_key" 'chat with another pane' \
	"if-shell -F '#{==:#{window_panes},2}' { if-shell \"'$cli' plugin unfit $origin >/dev/null 2>&1\" { $picker } { run-shell -b \"'$cli' plugin other $origin >/dev/null 2>&1 || :\" } } { $picker }"

# The key that shows who waits for a person.
bind "$jump_key" 'the pane that waits for you' \
	"run-shell -b \"'$cli' plugin jump $origin >/dev/null 2>&1 || :\""

# item NAME KEY COMMAND: an entry that runs a command of the program and reports the result.
item() { printf " '%s' %s { run-shell -b \"'$cli' plugin %s $origin >/dev/null 2>&1 || :\" }" "$1" "$2" "$3"; }
# popup NAME KEY COMMAND: an entry that shows something.
popup() { printf " '%s' %s { $calm ; display-popup -E -w 90%% -h 90%% '$cli' plugin %s $origin ; $dropped }" "$1" "$2" "$3"; }
# where COMMAND NAME: the name of an entry that is there only if the program has the command.
where() { printf '#{?#{m:* %s *,#{@intercom-can}},%s,}' "$1" "$2"; }

# While a restarted agent is back, panes outside any chat show an entry for that instead of mute: there is no room for both.
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
# A menu whose title does not fit is not shown at all.
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
ln -s "$bin" "$store/used.$$" 2>/dev/null && mv -f "$store/used.$$" "$store/used" # what runs outside of tmux
TMUX_PANE='' exec "$bin" plugin load
