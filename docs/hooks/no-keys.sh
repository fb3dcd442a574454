#!/bin/sh
# Denies an agent's shell the commands of tmux that press keys in a pane. Call it from the agent's own settings before the use of a tool: see docs/agents.md.
#
# stdin is the call of the tool, as JSON. Exit 2 denies it, and the model reads what stderr says.
# It stops an agent that follows a message, not one that hides what it does.

call=$(cat)

# Tools that run a command line. Files that only speak of tmux may be written.
printf '%s' "$call" | grep -Eq '"tool_name"[[:space:]]*:[[:space:]]*"(Bash|run_shell_command)"' || exit 0

# tmux takes any beginning of a command's name that is unique, and "send" and "pasteb" besides.
# What a command prints after pipe-pane -I is typed, too.
printf '%s' "$call" | grep -Eq -e 'tmux.*[^[:alnum:]_-](send(-[a-z]*)?|pa(s(te?)?)?|paste(b|-[a-z]*)?)([^[:alnum:]_-]|$)' \
	-e 'tmux.*[^[:alnum:]_-]pi(pe?|pep|pe-[a-z]*)?[^[:alnum:]_-].*-[Oo]*I' || exit 0

echo "Do not press keys in other panes: dialogs and questions are for the person who sits there. To tell another agent something, use send_message or: intercom send NAME 'TEXT'" >&2
exit 2
