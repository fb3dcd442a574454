#!/bin/sh
# start, stop or status of the background monitor. Installed by `intercom aea install`.
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 1
intercom=
# shellcheck source=/dev/null
. "$here/.aea/scripts/intercom.sh"
[ $# -gt 0 ] || set -- status
action=$1
shift
exec "$intercom" aea monitor "$action" --repository "$here" "$@"
