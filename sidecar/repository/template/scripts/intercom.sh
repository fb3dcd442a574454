# Finds the program intercom: $INTERCOM, else the one in PATH, else the one that installed these scripts.
intercom=${INTERCOM:-$(command -v intercom 2>/dev/null)}
[ -n "$intercom" ] || intercom=@INTERCOM@
if [ ! -x "$intercom" ]; then
	echo "aea: intercom is not installed: $intercom" >&2
	exit 127
fi
