#!/bin/sh
# Shows messages that are not processed: exit code 1 if there are any, else 0. Installed by `intercom aea install`.
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 1
intercom=
# shellcheck source=/dev/null
. "$here/.aea/scripts/intercom.sh"
exec "$intercom" aea check --repository "$here" "$@"
