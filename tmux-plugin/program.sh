#!/bin/sh
# program.sh ROOT: prints the path of the program of this revision. If there is none yet, it downloads the program if a
# release has it, and else builds it; @intercom-install (auto, build, download) permits only one of the two. It tells
# the clients of the tmux server.
set -u
root=$1
here=$root/tmux-plugin

tmux() { command tmux -N "$@"; }
told=''
tell() {
	# An earlier notice may still wait for the first client to attach; it would then show outdated news.
	[ -z "$told" ] || kill "$told" 2>/dev/null
	"$here/notice.sh" "intercom: $1" >/dev/null 2>&1 &
	told=$!
}

# fail WHY NEXT: reports that there is no program, and ends.
fail() {
	tmux set-option -g @intercom-trouble "$1; $2" \; set-option -gqu @intercom-builder 2>/dev/null
	[ -z "$told" ] || wait "$told" # the notice about the build must not appear over this one
	"$here/notice.sh" "intercom: $1; $2" '' 12
	exit 1
}
# wanted: ends the script silently if the plugin was uninstalled while it got the program.
wanted() {
	[ -z "$(tmux show-options -gqv @intercom-root)" ] || return
	[ -z "$told" ] || kill "$told" 2>/dev/null
	exit 1
}
# ours PROGRAM: whether it is intercom-cli, which would call itself. Only the first lines are searched: a real program
# has tens of millions of bytes.
ours() { head -n 5 "$1" | grep -q '^# intercom: runs the program that the tmux plugin uses'; }
# begun PID: when a process began. Together with the PID, this identifies the process for good. Prints nothing if it
# has ended.
begun() {
	if [ -e /proc/self/stat ]; then
		sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" && $1 != "X" { print $20 }'
	else
		LC_ALL=C ps -o lstart= -p "$1" 2>/dev/null | tr -s ' ' _
	fi
}
# runs PID-BEGUN: whether that process still runs. If its start time is not known, only the PID is checked.
runs() {
	case $1 in
	*-) kill -0 "${1%-}" 2>/dev/null ;;
	*) [ "$(begun "${1%%-*}")" = "${1#*-}" ] ;;
	esac
}
me=$$-$(begun $$)
# busy WITH: records why the plugin has no program yet; valid for as long as this process runs.
busy() { tmux set-option -g @intercom-trouble "$1" \; set-option -g @intercom-builder "$me" 2>/dev/null; }
again="then run: tmux run-shell $root/intercom.tmux"

given=$(tmux show-options -gqv @intercom-bin)
case $given in
\~/*) given=$HOME/${given#\~/} ;;
esac
if [ -n "$given" ]; then
	# A name is looked up in PATH here, because keys run a program by its path.
	case $given in
	/*) program=$given ;;
	*) program=$(command -v "$given" 2>/dev/null) ;;
	esac
	case $program in
	/*) ;;
	*) program='' ;;
	esac
	{ [ -n "$program" ] && ! ours "$program" && "$program" plugin check; } >/dev/null 2>&1 || fail "@intercom-bin ($given) is not a program this plugin can use" "change or unset it, $again"
	printf '%s\n' "$program"
	exit 0
fi

cd "$root" || exit 1
# sum PATH…: a checksum of the sources.
sum() {
	find "$@" \( -name .git -o -name testdata -o -path ./bin -o -path ./dist -o -path ./docs \) -prune -o -type f ! -name '*_test.go' -exec cksum {} + |
		LC_ALL=C sort | cksum | tr -d ' '
}
rev=''
[ ! -e .git ] || rev=$(git rev-parse --short=12 HEAD 2>/dev/null)
if [ -z "$rev" ]; then # no git, or a checkout that git does not trust
	key=source-$(sum .)
	version=$key
elif [ -z "$(git status --porcelain 2>/dev/null)" ]; then
	key=$rev
	version=$(git describe --tags --always 2>/dev/null)
else
	key=$rev-$(sum .)
	version=$(git describe --tags --always 2>/dev/null)-${key#"$rev"-}
fi

data=${XDG_DATA_HOME:-}
case $data in
/*) ;;
*) data=${HOME:-}/.local/share ;;
esac
store=$data/intercom/bin
# Several computers may share a home, and cannot run each other's programs.
machine=$(uname -s)-$(uname -m)
place=$key-$machine
bin=$store/$place/intercom
if [ -x "$bin" ]; then
	touch "$store/$place" 2>/dev/null
	printf '%s\n' "$bin"
	exit 0
fi

# A program that the person has installed is used if it is of this revision.
installed=$(command -v intercom 2>/dev/null)
[ -z "$installed" ] || ! ours "$installed" || installed=''
theirs=''
[ -z "$installed" ] || theirs=$("$installed" version 2>/dev/null | sed -n 's/^intercom \([^ ]*\) .*/\1/p')
# Git shortens a revision to a length that is unambiguous in the clone at hand.
same_rev=$(printf '%s\n' "$theirs" | sed -n 's/^\(.*-g\{0,1\}\)\{0,1\}\([0-9a-f]\{7,40\}\)$/\2/p')
[ -z "$same_rev" ] || [ "$key" != "$rev" ] || case $(git rev-parse HEAD 2>/dev/null) in
"$same_rev"*) theirs=$version ;;
esac
case $theirs in
'') ;;
"$version" | *-"$key")
	printf '%s\n' "$installed"
	exit 0
	;;
esac
instead=''
[ -z "$theirs" ] || instead="; $installed is another revision, $theirs, which @intercom-bin would have used"

# A server that was started by a desktop or by ssh may have only a minimal PATH.
go=$(command -v go 2>/dev/null)
for dir in /usr/local/go/bin /opt/homebrew/bin /usr/local/bin /opt/local/bin /snap/bin "${HOME:-}/go/bin" "${HOME:-}/.local/go/bin" \
	"${HOME:-}"/sdk/go*/bin "${HOME:-}/.asdf/shims" "${HOME:-}/.local/share/mise/shims" /run/current-system/sw/bin "${HOME:-}/.nix-profile/bin"; do
	[ -z "$go" ] || break
	[ ! -x "$dir/go" ] || go=$dir/go
done
wanted=$(sed -n 's/^go \([0-9.]*\)$/\1/p' go.mod)
no_go=''
if [ -z "$go" ]; then
	no_go="building needs Go $wanted or newer, and no Go was found"
else
	# Run outside the module: an old Go refuses to work inside a module that needs a newer one.
	have=$(cd / && GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null)
	have=${have#go}
	newest=$(printf '%s\n%s\n' "$wanted" "$have" | awk -F . '
		NR == 1 { major = $1; minor = $2 + 0 }
		NR == 2 { print ($1 > major || $1 == major && $2 + 0 >= minor) ? "ok" : "" }')
	[ -n "$newest" ] || no_go="building needs Go $wanted or newer, and this is Go $have"
fi

# How to get the program. A release counts as this revision if it was made from the same sources.
install=$(tmux show-options -gqv @intercom-install)
release=$(sed -n 's/^release //p' tmux-plugin/release.txt | head -n 1)
[ "$install" != build ] || release=''
same=''
[ -z "$release" ] || [ "$(sum cmd sidecar scripting policies docs/skill go.mod go.sum)" != "$(sed -n 's/^sources //p' tmux-plugin/release.txt)" ] || same=yes
[ "$install" != download ] || no_go="@intercom-install is download, so nothing is built"

if [ -n "$no_go" ] && [ -z "$same" ] && [ -n "$theirs" ] && "$installed" plugin check >/dev/null 2>&1; then
	tell "$no_go; using $installed $theirs instead, a different revision than the plugin"
	printf '%s\n' "$installed"
	exit 0
fi

log=$store/build.log
lock=$store/$place.lock
mkdir -p "$store" 2>/dev/null || fail "cannot write $store" "make it writable, $again"

# One process gets the program and others wait: those of a second tmux server, or of a second load of this one. The
# lock is a symbolic link whose target names its holder, so it never exists without one; a lock whose holder has ended
# is void.
until ln -s "$me" "$lock" 2>/dev/null; do
	holder=$(readlink "$lock")
	# Without a holder, the lock has just been released, or nothing can be created here: the directory is root's, or a
	# quota is used up.
	[ -n "$holder" ] || { mkdir "$store/$place.$$" && rmdir "$store/$place.$$"; } 2>/dev/null || fail "cannot write $store" "make it writable, $again"
	if [ -n "$holder" ] && ! runs "$holder"; then
		if mv "$lock" "$lock.$$" 2>/dev/null; then
			left=$(readlink "$lock.$$") # another process may have been faster, and hold the lock by now
			[ "$left" = "$holder" ] || ln -s "$left" "$lock" 2>/dev/null
			rm -f "$lock.$$"
			continue
		fi
		[ "$(readlink "$lock")" != "$holder" ] || fail "cannot write $store" "make it writable, $again"
	fi
	sleep 1
done
trap 'rm -rf "$lock" "$store/$place.$$"' EXIT
trap 'exit 1' HUP INT TERM
for left in "$store/$place".[0-9]*; do # left by a killed process
	kill -0 "${left##*.}" 2>/dev/null || rm -rf "$left"
done
if [ -x "$bin" ]; then
	printf '%s\n' "$bin"
	exit 0
fi

# into DIR: moves the new program to DIR if it works, and removes other directories that have not been used for 90
# days.
into() {
	"$store/$place.$$/intercom" plugin check >>"$log" 2>&1 || return 1
	rm -rf "${store:?}/$1"
	mv "$store/$place.$$" "$store/$1" || fail "cannot write $store" "make it writable, $again"
	find "$store" -mindepth 1 -maxdepth 1 -type d -mtime +90 ! -name "$1" -exec rm -rf {} + 2>/dev/null
	bin=$store/$1/intercom
}
fetched() {
	why=$("$here/fetch.sh" "$root" "$store/$place.$$" $$) && into "$1" && return
	why=${why:-"the program of release $release does not run here"}
	return 1
}
built() {
	CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly nice "$go" build -trimpath -buildvcs=false \
		-ldflags "-s -w -X main.version=$version" -o "$store/$place.$$/intercom" ./cmd/intercom >"$log" 2>&1 && into "$place"
}
mkdir "$store/$place.$$" || fail "cannot write $store" "make it writable, $again"
rm -f "$log" # it may be a link to another file
: >"$log"

why=''
if [ -n "$same" ]; then
	busy "still downloading release $release"
	tell "downloading release $release in the background$instead"
	if fetched "$place"; then
		wanted
		tell "release $release is ready; prefix + @ chats, prefix + B is the menu"
		printf '%s\n' "$bin"
		exit 0
	fi
	[ -n "$no_go" ] || tell "$why; building instead"
fi
if [ -z "$no_go" ]; then
	busy "still building, about a minute the first time; log: $log"
	tell "building in the background, about a minute the first time$instead"
	done=''
	built && done=yes
	wanted
	[ -n "$done" ] || fail "the build failed: $(tail -n 1 "$log")" "fix that (log: $log), $again"
	tell 'built and ready; prefix + @ chats, prefix + B is the menu'
	printf '%s\n' "$bin"
	exit 0
fi
if [ -n "$release" ] && [ -z "$same" ]; then
	bin=$store/$release-$machine/intercom
	if [ -x "$bin" ] || fetched "$release-$machine"; then
		touch "$store/$release-$machine" 2>/dev/null
		tell "$no_go; running release $release, which is older than the plugin"
		printf '%s\n' "$bin"
		exit 0
	fi
fi
how='https://go.dev/dl'
if command -v brew >/dev/null 2>&1; then
	how='brew install go'
elif command -v pacman >/dev/null 2>&1; then
	how='sudo pacman -S go'
elif command -v dnf >/dev/null 2>&1; then
	how='sudo dnf install golang'
fi
if [ "$install" = download ]; then
	fail "${why:-there is no release of this revision}; $no_go" "unset @intercom-install, so that it is built, $again"
fi
fail "${why:+$why; }$no_go" "install it ($how), $again"
