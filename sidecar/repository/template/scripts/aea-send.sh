#!/bin/sh
# Sends a message to the agent of another repository. Installed by `intercom aea install`.
#   .aea/scripts/aea-send.sh --to claude-other --to-path /path/to/other --type question \
#     --priority normal --subject "Your question" --message "Detailed message body"
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 1
intercom=
# shellcheck source=/dev/null
. "$here/.aea/scripts/intercom.sh"
exec "$intercom" aea send --repository "$here" "$@"
