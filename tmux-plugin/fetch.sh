#!/bin/sh
# fetch.sh ROOT DIR PID: downloads the program of the release named in ROOT/tmux-plugin/release.txt to DIR/intercom.
# The file appears there only if its SHA-256 matches that list; otherwise the script prints the reason and exits with
# status 1. If the process PID ends, nobody needs the program any more: the script ends the download and removes DIR.
set -u
list=$1/tmux-plugin/release.txt
dir=$2
wanted_by=$3

refuse() {
	rm -f "$dir/intercom" "$dir/intercom.gz" "$dir/intercom.new" "$dir/said" "$dir/pipe"
	printf '%s\n' "$1"
	exit 1
}
field() { sed -n "s/^$1 //p" "$list" | tr -d '\r' | head -n 1; }

tag=$(field release)
[ -n "$tag" ] || refuse 'no release has been made yet'
os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac
name=intercom-$tag-$os-$arch
want=$(tr -d '\r' <"$list" | awk -v name="$name" '$1 == "sha256" && $3 == name { print $2; exit }')
[ -n "$want" ] || refuse "release $tag has no program for $os on $arch"
# Any mirror will do, since the download is verified.
from=$(tmux -N show-options -gqv @intercom-release-url 2>/dev/null)
from=${from:-$(field url)}

case $from in
http://?* | https://?*) ;;
*) refuse "$from: not an http or https address" ;;
esac
command -v gzip >/dev/null 2>&1 || refuse 'no gzip was found'

# get: becomes a program that prints the file at the address, and reports errors on stderr.
if command -v curl >/dev/null 2>&1; then
	get() { exec curl -fsSL --proto =http,https --connect-timeout 8 --max-time 300 -- "$from/$name.gz"; }
elif command -v wget >/dev/null 2>&1; then
	get() { exec wget -nv -T 30 -t 2 -O - -- "$from/$name.gz"; }
else
	refuse 'neither curl nor wget was found'
fi
# Not every server announces the size, so the download is cut off here.
most=100000000
mkfifo "$dir/pipe" || refuse "cannot write $dir"
get >"$dir/pipe" 2>"$dir/said" &
getter=$!
while kill -0 "$getter" 2>/dev/null; do
	kill -0 "$wanted_by" 2>/dev/null || {
		kill "$getter"
		rm -rf "$dir"
		break
	}
	sleep 1
done >/dev/null 2>&1 &
head -c $((most + 1)) <"$dir/pipe" >"$dir/intercom.gz"
wait "$getter"
failed=$?
[ "$(wc -c <"$dir/intercom.gz")" -le "$most" ] || refuse "$from/$name.gz: more than $most bytes"
[ "$failed" = 0 ] || refuse "$from/$name.gz: $(tail -n 1 "$dir/said")"
rm -f "$dir/said" "$dir/pipe"
# A larger file is cut off; its sum then differs.
gzip -dc "$dir/intercom.gz" 2>/dev/null | head -c 300000000 >"$dir/intercom.new"
rm -f "$dir/intercom.gz"

if command -v sha256sum >/dev/null 2>&1; then
	have=$(sha256sum <"$dir/intercom.new")
elif command -v shasum >/dev/null 2>&1; then
	have=$(shasum -a 256 <"$dir/intercom.new")
elif command -v openssl >/dev/null 2>&1; then
	have=$(openssl dgst -sha256 <"$dir/intercom.new" | sed 's/^.*= *//')
else
	refuse 'no sha256sum, shasum or openssl was found to verify the download'
fi
[ "${have%% *}" = "$want" ] || refuse "the download of $name does not match its checksum and was removed"
{ chmod 755 "$dir/intercom.new" && mv "$dir/intercom.new" "$dir/intercom"; } || refuse "cannot write $dir"
