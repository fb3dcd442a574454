#!/bin/sh
# notice.sh TEXT [CLIENT [SECONDS]]: shows one line at one client of the tmux server, or at all of them. If no client
# is attached yet, because tmux is starting, it waits up to 20 seconds for the first. Nothing in TEXT is expanded or
# run.
set -u
text=$(printf '%s' "$1" | tr '\000-\037\177' ' ' | sed -e 's/#/##/g' -e 's/%/%%/g')
client=${2:-}
seconds=${3:-6}

# Before tmux 3.6, which added -C, panes freeze while a message is shown, so it is shown more briefly.
brief=$seconds
[ "$brief" -le 2 ] || brief=2

# tmux 3.2a does not accept a client here, but when called from a pane it uses the client that last used that pane.
show() {
	tmux display-message -C -d "${seconds}000" -c "$1" -- "$text" 2>/dev/null && return
	tmux display-message -d "${brief}000" -c "$1" -- "$text" 2>/dev/null && return
	pane=$(tmux list-clients -F '#{client_name} #{pane_id}' 2>/dev/null | awk -v client="$1" '$1 == client { print $2; exit }')
	[ -z "$pane" ] || TMUX_PANE=$pane tmux display-message -d "${brief}000" -- "$text" 2>/dev/null
}

if [ -n "$client" ]; then
	show "$client"
	exit 0
fi
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	clients=$(tmux list-clients -F '#{?client_control_mode,,#{client_name}}' 2>/dev/null) || exit 0
	if [ -n "$clients" ]; then
		printf '%s\n' "$clients" | while IFS= read -r client; do
			[ -z "$client" ] || show "$client"
		done
		exit 0
	fi
	sleep 1
done
