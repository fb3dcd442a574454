#!/bin/sh
# Makes journal.db.gz and account.json again: ids and times differ from run to run, nothing else does.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
old=$(mktemp -d)
trap 'git -C "$here" worktree remove --force "$old/tree"; rm -r "$old"' EXIT
git -C "$here" worktree add --quiet --detach "$old/tree" e74c688
cp "$here/make.go" "$old/tree/make.go"
mkdir -m 0700 "$old/out"
(cd "$old/tree" && go run make.go "$old/out")
gzip -9n "$old/out/journal.db"
mv "$old/out/journal.db.gz" "$old/out/account.json" "$here"
