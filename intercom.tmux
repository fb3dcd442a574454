#!/bin/sh
# TPM runs this when tmux reads its configuration; by hand: run-shell /path/to/intercom.tmux.
# tmux waits for it, so all of the work is done in the background.
case $0 in
*/*) root=${0%/*} ;;
*) root=. ;;
esac
root=$(CDPATH='' cd -- "$root" && pwd -P) || exit 0
[ -n "${TMUX:-}" ] || {
	echo "intercom: this is a tmux plugin: add run-shell '$root/intercom.tmux' to tmux.conf" >&2
	exit 0
}
"$root/tmux-plugin/load.sh" "$root" </dev/null >/dev/null 2>&1 &
