package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// wrong is a command line that ends with an error, with the error and the hint that it prints.
type wrong struct {
	line      string // behind intercom; blanks separate words, _ is an empty word
	code      int
	err, hint string // regular expressions
}

// errorsOf are errors of each command in the world of TestU13_errorsNameTheNextStep: ada and ben are in the chat plans, cyd is in
// none, all three read lines; %3 holds a shell.
var errorsOf = map[string][]wrong{
	"intercom":         {{"frob", 2, `no command "frob"`, `intercom --help`}, {"chta", 2, `no command "chta"`, `intercom chat\?`}, {"--bogus", 2, `unknown flag: --bogus`, `intercom --help`}},
	"intercom up":      {{"up now", 2, `takes no arguments`, `intercom up`}, {"up --server /nowhere", 3, `no tmux server runs at "/nowhere"`, `--server SOCKET`}},
	"intercom down":    {{"down now", 2, `takes no arguments`, `intercom down`}},
	"intercom status":  {{"status now", 2, `takes no arguments`, `intercom status`}},
	"intercom doctor":  {{"doctor --fix=perhaps", 2, `--fix "perhaps": not true or false`, `intercom doctor --help`}},
	"intercom version": {{"version x", 2, `takes no arguments`, `intercom version`}},
	"intercom adopt": {
		{"adopt", 2, `takes a pane`, `intercom adopt %1`},
		{"adopt 1", 2, `this is not run in a pane`, `tmux list-panes`},
		{"adopt alice", 2, `"alice" is not a pane`, `tmux list-panes`},
		{"adopt %99", 1, `there is no such pane`, `tmux list-panes`},
		{"adopt %3", 1, `no agent is recognised`, `start the agent in the pane first`},
		{"adopt %3 --as line", 1, `it would run what is typed`, `start the agent in the pane first`},
		{"adopt %0 --as line", 1, `already adopted, as "ada"`, `intercom name %0 NAME .*intercom release %0`},
		{"adopt %3 --as vim", 2, `not claude or`, `intercom adopt --help`},
		{"adopt %3 --as line --prompt (", 2, `--prompt: `, `regular expressions`},
	},
	"intercom ui": {
		{"ui frob", 2, `tab "frob": not waits`, `intercom ui --help`},
		{"ui", 2, `needs a terminal`, `intercom status`},
		{"ui inbox log", 2, `takes at most a tab`, `intercom ui inbox`},
		{"ui --watch _", 2, `--watch is empty`, `intercom ui --help`},
	},
	"intercom release": {
		{"release", 2, `takes a pane`, `intercom release %1`},
		{"release %99", 1, `no pane %99`, `intercom status`},
		{"release nobody", 1, `no session "nobody"`, `intercom status`},
		{"release %3", 1, `not adopted`, `intercom status`},
	},
	"intercom name": {
		{"name ada", 2, `got 1 argument`, `intercom name`},
		{"name ada ben", 1, `name taken`, `choose another`},
		{"name ada system", 2, `is reserved`, `for example system-2`},
		{"name ada a/b", 2, `not a name`, `1 to 64`},
		{"name %99 x", 1, `no pane %99`, `tmux list-panes`},
		{"name nobody x", 1, `no session "nobody"`, `intercom status`},
	},
	"intercom explain": {
		{"explain", 2, `takes a pane`, `intercom explain`},
		{"explain %99", 1, `no pane %99`, `tmux list-panes`},
		{"explain nobody", 1, `no session "nobody"`, `intercom status`},
		{"explain %3 --agent vim", 2, `--agent "vim"`, `intercom explain --help`},
	},
	"intercom chat": {{"chat strat", 2, `no command "chat strat"`, `intercom chat start\?`}},
	"intercom chat start": {
		{"chat start ada", 2, `two or more panes`, `intercom chat start`},
		{"chat start cyd %99", 1, `no pane %99`, `tmux list-panes`},
		{"chat start cyd nobody", 1, `no pane or session "nobody"`, `intercom status`},
		{"chat start cyd %3", 1, `no agent is recognised`, `start the agent in the pane first`},
		{"chat start ada cyd", 1, `is in chat "plans"`, `intercom chat remove plans ada`},
		{"chat start cyd cyd", 2, `named twice`, `intercom chat start --help`},
		{"chat start --again nosuch", 1, `no chat "nosuch"`, `intercom chat list`},
		{"chat start cyd %3 --set depth=x", 2, `depth`, `.`},
		{"chat start cyd %3 --turns many", 2, `not a whole number`, `--help`},
		{"chat start cyd %3 --say _", 2, `--say is empty`, `--help`},
	},
	"intercom chat list":   {{"chat list x", 2, `takes no arguments`, `intercom chat list`}},
	"intercom chat show":   {{"chat show", 2, `takes a chat`, `intercom chat show`}, {"chat show nosuch", 1, `no chat "nosuch"`, `intercom chat list`}},
	"intercom chat stop":   {{"chat stop", 2, `name one chat, or all`, `intercom chat list`}, {"chat stop nosuch", 1, `no chat "nosuch"`, `intercom chat list`}, {"chat stop --all --after-answer", 2, `only one of them`, `intercom chat stop --help`}},
	"intercom chat pause":  {{"chat pause plans --all", 2, `name one chat, or all`, `intercom chat list`}, {"chat pause nosuch", 1, `no chat "nosuch"`, `intercom chat list`}},
	"intercom chat resume": {{"chat resume", 2, `name one chat, or all`, `intercom chat list`}, {"chat resume nosuch", 1, `no chat "nosuch"`, `intercom chat list`}},
	"intercom chat add": {
		{"chat add plans", 2, `a chat and a pane`, `intercom chat add`},
		{"chat add nosuch cyd", 1, `no chat "nosuch"`, `intercom chat list`},
		{"chat add plans nobody", 1, `no session "nobody"`, `intercom status`},
		{"chat add plans ada", 1, `already in chat plans`, `intercom chat remove`},
	},
	"intercom chat remove": {
		{"chat remove plans", 2, `a chat and a pane`, `intercom chat remove`},
		{"chat remove plans cyd", 2, `is not in chat`, `intercom chat list`},
		{"chat remove nosuch ada", 1, `no chat "nosuch"`, `intercom chat list`},
		{"chat remove plans %99", 1, `no pane %99`, `tmux list-panes`},
	},
	"intercom chat mute": {
		{"chat mute plans", 2, `a chat and a pane`, `intercom chat mute`},
		{"chat mute plans cyd", 2, `is not in chat`, `intercom chat list`},
		{"chat mute plans nobody", 1, `no session "nobody"`, `intercom status`},
	},
	"intercom chat say": {
		{"chat say plans", 2, `a chat and a text`, `intercom chat say`},
		{"chat say plans _", 2, `argument 2 is empty`, `intercom chat say`},
		{"chat say nosuch hi", 1, `no chat "nosuch"`, `intercom chat list`},
	},
	"intercom chat stats": {{"chat stats", 2, `takes a chat`, `intercom chat stats`}, {"chat stats nosuch", 1, `no chat "nosuch"`, `intercom chat list`}},
	"intercom ask": {
		{"ask", 2, `takes a pane`, `intercom ask`},
		{"ask ben", 2, `whose last answer`, `--from PANE`},
		{"ask ben --from ada", 1, `no answer of it is known`, `intercom send`},
		{"ask %99 --from ada", 1, `no pane %99`, `tmux list-panes`},
		{"ask ben --from nobody", 1, `no session "nobody"`, `intercom status`},
		{"ask ben --from ada --turns 0", 2, `less than one answer`, `--turns 3`},
		{"ask ben --from ada --timeout soon", 2, `not a time`, `intercom ask --help`},
		{"ask ben --from ada --wait typed", 2, `--wait "typed"`, `intercom ask --help`},
	},
	"intercom send": {
		{"send cyd", 2, `no text`, `--file`},
		{"send cyd -", 2, `the text is "-"`, `--file -`},
		{"send cyd hi --direct", 2, `only a session can be linked`, `intercom chat start`},
		{"send cyd --close-link", 2, `only a session can be linked`, `intercom chat start`},
		{"send cyd hi --direct --close-link", 2, `only one can be given`, `intercom send --help`},
		{"send nobody hi", 1, `no session "nobody"`, `intercom status`},
		{"send Dee@desk hi", 1, `no session "Dee@desk"`, `COMPUTER/SESSION: desk/Dee`},
		{"send %99 hi", 1, `no pane %99`, `tmux list-panes`},
		{"send %3 hi", 1, `not adopted`, `intercom adopt %3`},
		{"send cyd --file /nowhere", 2, `no such file`, `name a file`},
		{"send cyd --file /", 2, `is a directory`, `name a file`},
		{"send cyd hi --file x", 2, `only one can be sent`, `intercom send --help`},
		{"send cyd hi --timeout soon", 2, `not a time`, `intercom send --help`},
		{"send cyd hi --timeout -1s", 2, `must not be negative`, `--timeout 0`},
		{"send cyd hi --wait typed", 2, `--wait "typed"`, `intercom send --help`},
		{"send cyd hi --id 7", 2, `--id: `, `without --id`},
		{"send cyd -x", 2, `unknown shorthand flag`, `goes after --`},
		{"send cyd \xff", 2, `not valid UTF-8`, `iconv`},
		{"send gil hi --timeout 1s", 5, `queued|held`, `intercom `},
	},
	"intercom session":      {{"session strat", 2, `no command "session strat"`, `intercom session start\?`}},
	"intercom session list": {{"session list x", 2, `takes no arguments`, `intercom session list`}},
	"intercom session data": {
		{"session data", 2, `takes a session`, `intercom session data`},
		{"session data nobody", 1, `no session "nobody"`, `intercom status`},
		{"session data ada --tail -1", 2, `tail -1: must not be negative`, `intercom session data --help`},
		{"session data ada --since yesterday", 2, `--since "yesterday"`, `10m`},
	},
	"intercom session mute": {
		{"session mute", 2, `takes a session`, `intercom session mute`},
		{"session mute ada", 2, `a person gets none`, `--for PEER`},
		{"session mute ada --for ben", 1, `no subscription to "ada"`, `intercom session list`},
		{"session mute nobody --for ben", 1, `no session "nobody"`, `intercom status`},
		{"session mute ada --for _", 2, `--for is empty`, `intercom session mute --help`},
	},
	"intercom config":     {{"config frob", 2, `no command "config frob"`, `intercom config --help`}},
	"intercom config get": {{"config get", 2, `takes a setting`, `intercom config get`}, {"config get frob", 2, `no setting "frob"`, `health.after`}},
	"intercom session end": {
		{"session end", 2, `takes a session`, `intercom session end`},
		{"session end nobody", 1, `no session "nobody"`, `intercom status`},
		{"session end %99", 1, `no pane %99`, `tmux list-panes`},
		{"session end ada --grace -1s", 2, `must be from 0`, `intercom session end --help`},
	},
	"intercom session start": {
		{"session start", 2, `name an agent or a command`, `-- COMMAND`},
		{"session start claude", 2, `a command goes after --`, `-- claude`},
		{"session start --agent vim", 1, `no agent "vim" can be started`, `agents: aider|agents: claude`},
		{"session start --agent claude --as line", 2, `only a command takes a profile`, `intercom session start --help`},
		{"session start --agent claude -- cat", 2, `not both`, `intercom session start --help`},
		{"session start --agent /bin/cat --dir /nowhere", 1, `no directory "/nowhere"`, `that exists`},
		{"session start --agent /bin/cat --thinking deep", 2, `unknown thinking mode "deep"`, `fast, med, slow`},
		{"session start --agent /bin/cat --message _", 2, `--message is empty`, `--help`},
		{"session start -- /nowhere/x", 1, `no program "/nowhere/x" can be run`, `name a program`},
		{"session start --as line -- bash", 1, `start ".*bash" as line: bash is a shell`, `leave --as out`},
		{"session start -- false", 1, `start "/.*/false" in .*: it ended at once`, `by hand in a pane there`},
		{"session start -- sleep 0.2", 1, `start "/.*/sleep" in .*: it ended at once`, `by hand in a pane there`},
		{"session start -- sh -c exit", 1, `start "/.*/sh" in .*: it ended at once`, `by hand in a pane there`},
		{"session start --as vim -- cat", 2, `no profile "vim"`, `intercom adopt --help`},
	},
	"intercom computers": {
		{"computers x", 2, `takes no arguments`, `intercom computers`},
		{"computers --forget _", 2, `name a computer`, `intercom computers`},
		{"computers --forget mars", 1, `no computer "mars"`, `intercom computers`},
	},
	"intercom peers":         {{"peers x", 2, `takes no arguments`, `intercom peers`}},
	"intercom inbox":         {{"inbox frob", 2, `no command "inbox frob"`, `intercom inbox --help`}},
	"intercom inbox list":    {{"inbox list x", 2, `takes no arguments`, `intercom inbox list`}},
	"intercom inbox show":    {{"inbox show", 2, `takes an id`, `intercom inbox show`}, {"inbox show 4d0c8ed2", 1, `no waiting message has the id`, `intercom inbox list`}},
	"intercom inbox release": {{"inbox release", 2, `takes an id`, `intercom inbox release`}, {"inbox release 4d0c8ed2", 1, `only a person at a terminal`, `in a pane that is not adopted`}},
	"intercom inbox approve": {{"inbox approve", 2, `takes an id`, `intercom inbox approve`}, {"inbox approve 4d0c8ed2", 1, `only a person at a terminal`, `in a pane that is not adopted`}},
	"intercom inbox reject":  {{"inbox reject", 2, `takes an id`, `intercom inbox reject`}, {"inbox reject 4d0c8ed2", 1, `only a person at a terminal`, `in a pane that is not adopted`}},
	"intercom inbox edit":    {{"inbox edit", 2, `takes an id`, `intercom inbox edit`}, {"inbox edit 4d0c8ed2", 1, `only a person at a terminal`, `in a pane that is not adopted`}},
	"intercom inbox reply": {
		{"inbox reply 4d0c8ed2", 2, `takes an id and a text`, `intercom inbox reply`},
		{"inbox reply 4d0c8ed2 no", 1, `only a person at a terminal`, `in a pane that is not adopted`},
	},
	"intercom brakes": {{"brakes frob", 2, `no command "brakes frob"`, `intercom brakes --help`}},
	"intercom brakes try": {
		{"brakes try", 2, `takes a file`, `intercom brakes try dialogue.jsonl`},
		{"brakes try /nowhere", 2, `/nowhere: no such file`, `standard input`},
		{"brakes try /", 2, `"/" is a directory, not a regular file`, `a file that can be read`},
	},
	"intercom policy": {{"policy chek", 2, `no command "policy chek"`, `intercom policy check\?`}},
	"intercom policy check": {
		{"policy check /nowhere", 2, `/nowhere: no such file`, `name a file`},
		{"policy check /", 2, `"/" is a directory, not a regular file`, `name a file`},
		{"policy check /etc/passwd /etc/passwd", 2, `listed twice`, `name each file once`},
	},
	"intercom policy test": {
		{"policy test /nowhere/x.lua", 2, `/nowhere/x_test.lua: no such file`, `x_test.lua beside it`},
		{"policy test --run (", 2, `--run: `, `RE2`},
	},
	"intercom policy explain": {
		{"policy explain", 2, `explain what`, `intercom policy explain ID, --all`},
		{"policy explain nosuch", 1, `no message "nosuch"`, `intercom log`},
		{"policy explain x --all", 2, `only one of them`, `--help`},
		{"policy explain --all --origin robot", 2, `--origin "robot": not agent`, `--help`},
		{"policy explain --type x --priority medium", 2, `--priority "medium": not low`, `--help`},
		{"policy explain --type _", 2, `--type is empty`, `--help`},
		{"policy explain --all --priority low", 2, `\[all priority\]`, `--help`},
	},
	"intercom policy bench":       {{"policy bench --count 0", 2, `--count 0: not 1 to 100000`, `--help`}, {"policy bench /nowhere", 2, `no such file`, `name a file`}},
	"intercom policy diff":        {{"policy diff /nowhere", 2, `"/nowhere" is not a directory`, `init\.lua`}},
	"intercom policy log":         {{"policy log --limit 0", 2, `--limit 0: not 1 to`, `--help`}},
	"intercom policy rollback":    {{"policy rollback x", 2, `takes no arguments`, `intercom policy rollback`}},
	"intercom aea":                {{"aea frob", 2, `no command "aea frob"`, `intercom aea --help`}},
	"intercom aea install":        {{"aea install now", 2, `takes no arguments`, `intercom aea install`}, {"aea install --repository /nowhere", 1, `directory "/nowhere": no such file`, `.`}},
	"intercom aea disable":        {{"aea disable", 1, `is not enabled on this computer`, `intercom peers`}, {"aea disable now", 2, `takes no arguments`, `intercom aea disable`}},
	"intercom aea send":           {{"aea send", 2, `--to is missing`, `intercom aea send --help`}, {"aea send --to x --type question --subject S --message M", 1, `no repository of agent "x"`, `--to-path PATH`}},
	"intercom aea check":          {{"aea check", 1, `is in no repository that has an \.aea directory`, `intercom aea install`}},
	"intercom aea list":           {{"aea list", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea show":           {{"aea show", 2, `takes a file or an id`, `intercom aea show`}, {"aea show x", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea done":           {{"aea done", 2, `takes a file or an id`, `intercom aea done`}, {"aea done x", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea approvals":      {{"aea approvals now", 2, `takes no arguments`, `intercom aea approvals`}},
	"intercom aea approve":        {{"aea approve", 2, `takes an id`, `intercom aea approve`}},
	"intercom aea reject":         {{"aea reject", 2, `takes an id`, `intercom aea reject`}},
	"intercom aea resume":         {{"aea resume now", 2, `takes no arguments`, `intercom aea resume`}},
	"intercom aea monitor":        {{"aea monitor frob", 2, `no command "aea monitor frob"`, `intercom aea monitor --help`}},
	"intercom aea monitor start":  {{"aea monitor start", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea monitor stop":   {{"aea monitor stop", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea monitor status": {{"aea monitor status", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea thread":         {{"aea thread", 2, `takes an id`, `intercom aea thread`}, {"aea thread x", 1, `no message of conversation "x"`, `intercom aea list`}},
	"intercom aea archive":        {{"aea archive --older-than soon", 2, `--older-than "soon": not a time`, `intercom aea archive --help`}},
	"intercom aea doctor":         {{"aea doctor", 1, `is in no repository`, `intercom aea install`}},
	"intercom aea version":        {{"aea version now", 2, `takes no arguments`, `intercom aea version`}},
	"intercom policy trust": {
		{"policy trust /nowhere", 2, `/nowhere: no such file`, `\.intercom/policy\.lua`},
		{"policy trust / /", 2, `a directory, or nothing`, `intercom policy trust`},
		{"policy trust /", 2, `has neither \.intercom/policy\.lua nor \.aea/agent-config\.yaml`, `\.intercom/policy\.lua`},
	},
	"intercom policy use": {
		{"policy use frob", 2, `no policy "frob"`, `hub-and-spoke`},
		{"policy use quiet-hours", 1, `only a person at a terminal`, `in a pane that is not adopted`},
	},
	"intercom policy drop": {
		{"policy drop", 2, `takes the name of a policy`, `intercom policy drop`},
		{"policy drop frob", 2, `no policy "frob"`, `hub-and-spoke`},
		{"policy drop quiet-hours", 1, `"quiet-hours" is not in use`, `intercom policy use lists`},
	},
	"intercom policy edit": {
		{"policy edit a/b", 2, `"a/b" is not the name of a policy`, `50-reviews`},
		{"policy edit", 1, `only a person at a terminal`, `in a pane that is not adopted`},
	},
	"intercom log": {
		{"log nosuch", 1, `no message, delivery or chat`, `intercom chat list`},
		{"log --chat nosuch", 1, `no chat "nosuch"`, `intercom chat list`},
		{"log --limit ten", 2, `not a whole number`, `intercom log --help`},
		{"log x -f", 2, `-f goes with --chat only`, `intercom log -f`},
	},
	"intercom mcp": {
		{"mcp now", 2, `no command "mcp now"`, `intercom mcp --help`},
		{"mcp --role boss", 2, `--role "boss"`, `intercom mcp --help`},
		{"mcp --tool-prefix a.b", 2, `--tool-prefix "a.b"`, `intercom mcp --help`},
	},
	"intercom mcp install": {
		{"mcp install", 2, `takes an agent`, `intercom mcp install`}, {"mcp install vim", 2, `not claude`, `intercom mcp install --help`},
	},
	"intercom mcp uninstall":   {{"mcp uninstall vim", 2, `not claude`, `intercom mcp uninstall --help`}},
	"intercom hooks":           {{"hooks frob", 2, `no command "hooks frob"`, `intercom hooks --help`}},
	"intercom hooks install":   {{"hooks install", 2, `takes an agent`, `intercom hooks install`}, {"hooks install vim", 2, `not claude`, `intercom hooks install --help`}},
	"intercom hooks uninstall": {{"hooks uninstall vim", 2, `not claude`, `intercom hooks uninstall --help`}},
	"intercom record": {
		{"record %0", 2, `a pane and a directory`, `intercom record`},
		{"record %99 /tmp", 1, `no pane %99`, `tmux list-panes`},
		{"record %0 /proc/nowhere", 1, `/proc/nowhere`, `name a directory`},
		{"record %0 /tmp --what a/b", 2, `not the name of a file`, `make one`},
	},
	// For ai-talk only wrong usage is reported this way; its other errors have the form of its document.
	"intercom talk":               {{"talk frob", 2, `no command "talk frob"`, `intercom talk --help`}},
	"intercom talk listen":        {{"talk listen frob", 2, `no command "talk listen frob"`, `intercom talk listen --help`}},
	"intercom talk listen start":  {{"talk listen start x", 2, `takes no arguments`, `intercom talk listen start`}, {"talk listen start --port _", 2, `--port is missing`, `--help`}},
	"intercom talk listen stop":   {{"talk listen stop", 2, `--port is missing`, `intercom talk listen stop --help`}},
	"intercom talk listen status": {{"talk listen status", 2, `--port is missing`, `intercom talk listen status --help`}},
	"intercom talk listen-once":   {{"talk listen-once", 2, `--port is missing`, `--help`}, {"talk listen-once --port 9001 --timeout -1", 2, `not a number of seconds`, `--help`}},
	"intercom talk check":         {{"talk check", 2, `--port is missing`, `--help`}, {"talk check --port 9001 --limit 0", 2, `at least 1`, `--help`}},
	"intercom talk receipts":      {{"talk receipts", 2, `--port is missing`, `--help`}},
	"intercom talk discover":      {{"talk discover x", 2, `takes no arguments`, `intercom talk discover`}},
	"intercom talk send": {
		{"talk send --message x", 2, `one of --to-port, --to, --to-all`, `--help`},
		{"talk send --to-port 9002 --from-port 9001", 2, `either --message or --message-file`, `--help`},
		{"talk send --to-port 9002 --from-port 9001 --message x --type xml", 2, `--type "xml"`, `--help`},
	},
	"intercom link": {
		{"link frob", 2, `no command "link frob"`, `intercom link --help`},
		{"link --dir /proc/nowhere", 1, `/proc/nowhere`, `with --dir`},
		{"link", 1, `no hub has run on this computer`, `intercom-hub --listen`},
	},
	"intercom link add": {
		{"link add", 2, `takes a name for the other computer`, `intercom link add raspi`},
		{"link add raspi", 1, `no hub has run on this computer`, `intercom-hub --listen`},
	},
	"intercom link end": {{"link end", 2, `takes the name of the other computer`, `intercom link end`}},
	"intercom link join": {
		{"link join", 2, `takes the token`, `intercom link join`},
		{"link join raspi", 2, `not an invitation`, `copy the whole line`},
	},
	"intercom link ssh": {
		{"link ssh", 2, `takes a host`, `intercom link ssh`},
		{"link ssh -- -oProxyCommand=x", 2, `is not a host`, `intercom link ssh raspi.local`},
		{"link ssh host --program a;b", 2, `--program "a;b"`, `/usr/local/bin/intercom`},
		{"link ssh host --name a.b", 2, `has a dot`, `laptop`},
		{"link ssh host --ssh /nowhere/ssh", 1, `no program "/nowhere/ssh"`, `OpenSSH`},
	},
	"intercom compat":         {{"compat frob", 2, `no command "compat frob"`, `intercom compat --help`}},
	"intercom compat install": {{"compat install", 2, `takes a directory`, `intercom compat install`}, {"compat install /proc/nowhere", 1, `/proc/nowhere`, `intercom doctor`}},

	"intercom uninstall": {{"uninstall x", 2, `takes no arguments`, `intercom uninstall`}},
	"intercom demo":      {{"demo x", 2, `takes no arguments`, `intercom demo`}},

	"intercom team":      {{"team frob", 2, `no command "team frob"`, `intercom team --help`}},
	"intercom team list": {{"team list x", 2, `takes no arguments`, `intercom team list`}, {"team list --dir /nowhere", 1, `directory "/nowhere": no such file`, `.`}},
	"intercom team send": {
		{"team send", 2, `a name and a text`, `intercom team send`},
		{"team send alice", 2, `no text`, `--file`},
		{"team send alice hi", 1, `is in no project that has a .team directory`, `--dir`},
		{"team send alice hi --from _", 2, `--from is empty`, `--help`},
		{"team send alice -x", 2, `unknown shorthand flag`, `goes after --`},
	},
	"intercom team broadcast": {{"team broadcast", 2, `no text`, `--file`}, {"team broadcast a b", 2, `takes a text`, `in quotes`}, {"team broadcast hi", 1, `is in no project`, `--dir`}},
	"intercom team inbox":     {{"team inbox a b", 2, `at most a name`, `intercom team inbox`}, {"team inbox alice", 1, `is in no project`, `--dir`}},
	"intercom team spawn": {
		{"team spawn", 2, `takes a name`, `intercom team spawn`},
		{"team spawn alice", 2, `--role is missing`, `--help`},
		{"team spawn alice --role _", 2, `--role is empty`, `--help`},
		{"team spawn alice --role tester --server=", 2, `no tmux server`, `--server`},
	},
	"intercom team shutdown-request": {
		{"team shutdown-request", 2, `takes a name`, `intercom team shutdown-request`}, {"team shutdown-request alice", 1, `is in no project`, `--dir`},
	},
	"intercom team shutdown-response": {
		{"team shutdown-response", 2, `takes a request_id`, `intercom team shutdown-response`},
		{"team shutdown-response 1a2b3c4d", 2, `either --approve or --reject`, `--help`},
		{"team shutdown-response 1a2b3c4d --approve --reject", 2, `either --approve or --reject`, `--help`},
	},
	"intercom team shutdown-status": {{"team shutdown-status", 2, `takes a request_id`, `intercom team shutdown-status`}},
	"intercom team plan":            {{"team plan", 2, `no text`, `--file`}, {"team plan a b", 2, `takes a text`, `in quotes`}},
	"intercom team plan-review": {
		{"team plan-review", 2, `takes a request_id`, `intercom team plan-review`}, {"team plan-review 1a2b3c4d", 2, `either --approve or --reject`, `--help`},
	},
	"intercom team plan-wait": {{"team plan-wait", 2, `takes a request_id`, `intercom team plan-wait`}, {"team plan-wait 1a2b3c4d --timeout -1", 2, `--timeout`, `.`}},
	"intercom header":         {{"header frob", 2, `no command "header frob"`, `intercom header --help`}},
	"intercom header parse":   {{"header parse", 2, `no text`, `--file`}, {"header parse a b", 2, `takes a text`, `in quotes`}, {"header parse _", 2, `argument 1 is empty`, `header parse`}},
	"intercom header format": {
		{"header format x", 2, `--session-id is missing`, `header format --help`},
		{"header format --session-id x y", 2, `a session is a UUID`, `intercom peers --json`},
		{"header format --session-id _ y", 2, `--session-id is empty`, `header format --help`},
	},
	"intercom man":                   {{"man", 2, `takes a directory`, `intercom man`}, {"man /dev/null/x", 1, `/dev/null`, `.`}},
	"intercom help":                  {{"help frob", 2, `no command "frob"`, `intercom --help`}, {"help chat strat", 2, `no command "chat strat"`, `intercom chat start\?`}},
	"intercom completion":            {{"completion csh", 2, `no command "completion csh"`, `intercom completion --help`}},
	"intercom completion bash":       {{"completion bash x", 2, `takes no arguments`, `intercom completion bash`}},
	"intercom completion zsh":        {{"completion zsh x", 2, `takes no arguments`, `intercom completion zsh`}},
	"intercom completion fish":       {{"completion fish x", 2, `takes no arguments`, `intercom completion fish`}},
	"intercom completion powershell": {{"completion powershell x", 2, `takes no arguments`, `intercom completion powershell`}},

	// Commands that no person calls.
	"intercom sidecar": {{"sidecar x", 2, `takes no arguments`, `intercom sidecar --help`}, {"sidecar --server /nowhere", 3, `no tmux server runs`, `--server SOCKET`}},
	"intercom guard":   {{"guard x", 2, `takes no arguments`, `intercom guard --help`}},
	"intercom plugin":  {{"plugin frob", 2, `no command "plugin frob"`, `intercom plugin --help`}},
}

// silentOnes are commands that have no errors in this table: an agent's hook must never have one, a persona is a program for
// tests with its own usage, a policy worker speaks with the sidecar alone, and tmux starts session-exec, which becomes the
// session's program.
var silentOnes = []string{"intercom hook", "intercom persona", "intercom policy-worker", "intercom session-exec"}

// Every error is reported on standard error, in one line that says what is wrong and one that says what to do next; standard
// output stays empty, and nothing is coloured. The first error of each command is also tried at a terminal, by a program of its
// own.
func TestU13_errorsNameTheNextStep(t *testing.T) {
	t.Parallel()
	st := newErrorStage(t)
	st.oneForAll()
	every(t, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		switch {
		case slices.Contains(silentOnes, path):
		case slices.Contains([]string{"check", "load"}, cmd.Name()) && cmd.Parent().Name() == "plugin":
			st.errs(append(strings.Fields(path)[1:], "x"), wrong{path, 2, `takes no arguments`, `--help`})
		case strings.HasPrefix(path, "intercom plugin "):
			st.errs(strings.Fields(path)[1:], wrong{path, 2, `not a client and a pane`, `intercom chat start`})
		default:
			assert.NotEmpty(t, errorsOf[path], "%s has no errors here", path)
		}
	})
	for _, words := range []string{"hook", "hook vim x", "hook claude Stop {", "hook --bogus"} {
		out, told, code := st.apart(strings.Fields(words)...)
		assert.Zero(t, code, words)
		assert.Empty(t, out+told, words)
	}
	for _, path := range slices.Sorted(maps.Keys(errorsOf)) {
		first := errorsOf[path][0]
		assert.Regexp(t, `(?s)^intercom: error: .*\nintercom: hint: .*\n$`, st.atTerminal(strings.Fields(first.line)...), "%s at a terminal", first.line)
		for _, c := range errorsOf[path] {
			for _, asJSON := range []bool{false, true} {
				words := strings.Fields(c.line)
				for i, word := range words {
					if word == "_" {
						words[i] = ""
					}
				}
				if asJSON {
					words = append([]string{"--json"}, words...)
				}
				st.errs(words, c)
			}
		}
	}
}

// Every command that needs a tmux server says so if none runs, and how to name another.
func TestU13_withoutAServer(t *testing.T) {
	t.Parallel()
	st := &errorStage{stage: newStage(t, tmuxtest.Versions(t)[0])}
	st.oneForAll()
	needNone := []string{
		"intercom version", "intercom doctor", "intercom demo", "intercom down", "intercom uninstall", "intercom status",
		"intercom hooks install", "intercom hooks uninstall", "intercom mcp install", "intercom mcp uninstall", "intercom help", "intercom brakes try", "intercom ui",
		"intercom policy check", "intercom policy test", "intercom policy explain", "intercom policy bench", "intercom policy trust", "intercom policy edit", "intercom policy use", "intercom policy drop", "intercom policy log",
	}
	tried := 0
	every(t, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		hidden := false
		for c := cmd; c != nil; c = c.Parent() {
			hidden = hidden || c.Hidden
		}
		if hidden || cmd.HasSubCommands() || slices.Contains(needNone, path) || strings.HasPrefix(path, "intercom completion") || strings.HasPrefix(path, "intercom talk ") || strings.HasPrefix(path, "intercom compat") || strings.HasPrefix(path, "intercom link ") || strings.HasPrefix(path, "intercom aea ") || strings.HasPrefix(path, "intercom team ") {
			return
		}
		tried++
		line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
		line, _, _ = strings.Cut(line, " > ")
		words := append(shellWords(t, line)[1:], "--server=/nowhere")
		if i := slices.Index(words, "--"); i >= 0 {
			words = slices.Insert(words[:len(words)-1], i, words[len(words)-1])
		}
		st.errs(words, wrong{line, 3, `no tmux server runs at "/nowhere"`, `--server SOCKET`})
	})
	assert.Greater(t, tried, 20)
}

// At a terminal, a command that takes long says so; elsewhere it does not.
func TestU13_longWorkShowsProgress(t *testing.T) {
	t.Parallel()
	st := newErrorStage(t)
	assert.Contains(t, st.atTerminal("send", "hal", "how far are you?", "--wait", "answered", "--timeout", "3s"), "intercom: note: it is submitted; waiting until it is answered, for up to 3s")
	_, told, code := st.apart("send", "hal", "and now?", "--timeout", "2s")
	assert.Equal(t, 5, code, told)
	assert.NotContains(t, told, "waiting until")

	// `ask` at a terminal says how far the question has come, and that it waits for the answer.
	tmuxtest.WaitFor(t, "something to ask about", func() bool {
		out, code := st.intercom("send", "cyd", "say something", "--wait", "answered", "--timeout", "20s")
		return code == 0 && strings.Contains(out, "answered")
	})
	asked := st.atTerminal("ask", "fay", "--from", "cyd", "--timeout", "3s")
	assert.Regexp(t, `intercom: note: the question is (typed|submitted); waiting for the answer, `, asked, "as far as it has come by then")
	assert.Regexp(t, `(?m)^\S+ submitted\r?$`, asked)

	// If the sidecar does not answer, the command still says that it is working.
	pid := st.status().PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	assert.Contains(t, st.atTerminal("peers"), "intercom: note: intercom peers is still working; C-c stops it")
	_, told, code = st.apart("peers")
	assert.Equal(t, api.CodeTimeout.Exit(), code, told)
	assert.NotContains(t, told, "still working")
	assert.Contains(t, told, "intercom: hint: ")
}

// Only a key that a person presses opens a popup or a menu: our code has no command for it, and of the plugin's files only those
// that bind keys do.
func TestU13_noPopupUnasked(t *testing.T) {
	t.Parallel()
	unasked := regexp.MustCompile(`display-(popup|menu|panes)|\b(popup|menu) -|choose-(tree|client|buffer)|command-prompt|confirm-before|customize-mode`)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, dir := range []string{"cmd", "sidecar", "tmux-plugin", "intercom.tmux"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") || filepath.Base(path) == "load.sh" {
				return err
			}
			data, err := os.ReadFile(path)
			for line := range strings.Lines(string(data)) {
				code, _, _ := strings.Cut(line, "//")
				assert.NotRegexp(t, unasked, code, path)
			}
			return err
		}))
	}
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		before, hooks := st.Run("list-keys"), st.Run("show-hooks", "-g")
		st.load()
		bound := 0
		for line := range strings.Lines(st.Run("list-keys")) {
			if unasked.MatchString(line) && !strings.Contains(before, line) {
				bound++
				assert.Regexp(t, `bind-key\s+-T prefix\s+`, line)
			}
		}
		assert.Equal(t, 2, bound, "the keys of menu and chat")
		assert.Equal(t, hooks, st.Run("show-hooks", "-g"))
		me := st.sit("base")
		claude := st.coder("claude")
		_, code := st.intercom("adopt", claude.pane)
		require.Zero(t, code)
		claude.do(":draft half a line")
		_, code = st.intercom("send", claude.pane, "hello", "--timeout", "1s")
		require.Equal(t, 5, code)
		tmuxtest.WaitFor(t, "it is held", func() bool { return len(st.held()) == 1 })
		me.press("x") // the key goes where it went before
		tmuxtest.WaitFor(t, "a key in the pane", func() bool { return strings.Contains(st.Run("capture-pane", "-p", "-t", st.Base), "x") })
	})
}

// Helpers.

// errorStage is a tmux server with the sessions and chats that the errors are about.
type errorStage struct {
	*stage
	lines func(words []string) answered // runs a command line in one program for all; nil: each in a program of its own
}

func newErrorStage(t *testing.T) *errorStage {
	t.Helper()
	st := &errorStage{stage: newStage(t, tmuxtest.Versions(t)[0])}
	st.Run("respawn-pane", "-k", "-t", st.Base, st.persona("ada"))
	for _, command := range []string{
		st.persona("ben"), st.persona("cyd"), "exec env PS1='$ ' ENV= sh -i", st.persona("fay", "--think", "1h"), st.persona("gil", "--think", "1h"), st.persona("hal", "--think", "1h"),
	} {
		st.Run("new-window", "-d", command)
	}
	for pane, shows := range []string{"ada>", "ben>", "cyd>", "$", "fay>", "gil>", "hal>"} {
		id := "%" + string(rune('0'+pane))
		st.WaitForText(id, shows)
		if name, ok := strings.CutSuffix(shows, ">"); ok {
			out, code := st.intercom("adopt", id, "--as", "line", "--name", name)
			require.Zero(t, code, out)
		}
	}
	out, code := st.intercom("chat", "start", "ada", "ben", "--name", "plans")
	require.Zero(t, code, out)
	out, code = st.intercom("send", "gil", "think of something")
	require.Zero(t, code, out)
	return st
}

// persona is the command of a program that reads lines.
func (st *errorStage) persona(name string, flags ...string) string {
	return strings.Join(append([]string{"exec", personatest.Program(st.t), "line --prompt '" + name + "> '"}, flags...), " ")
}

// apart runs a command outside of any terminal.
func (st *errorStage) apart(words ...string) (out, told string, code int) {
	st.t.Helper()
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--server") }) {
		words = append([]string{"--server=" + st.Socket}, words...)
	}
	if st.lines != nil {
		a := st.lines(words)
		return string(a.Out), string(a.Told), a.Code
	}
	var stdout, stderr bytes.Buffer
	cmd := &exec.Cmd{Path: thisProgram(), Args: append([]string{"intercom"}, words...), Env: st.environ(), Dir: st.home, Stdout: &stdout, Stderr: &stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(st.t, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// answered is the outcome of a command line.
type answered struct {
	Out, Told []byte
	Code      int
}

// commandLines is a program that runs one command line after another as the real program would: starting that for each takes ten
// times as long. They all inherit its environment.
func commandLines() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for line := [][]byte(nil); in.Decode(&line) == nil; line = nil { // the words need not be valid UTF-8
		var words []string
		for _, word := range line {
			words = append(words, string(word))
		}
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), env{
			Args: words, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv, Environ: os.Environ,
			Published: published, Executable: os.Getenv("INTERCOM_TESTED"),
		})
		if err := out.Encode(answered{stdout.Bytes(), stderr.Bytes(), code}); err != nil {
			panic(err)
		}
	}
}

// oneForAll has one program run all further command lines, outside of any terminal.
func (st *errorStage) oneForAll() {
	st.t.Helper()
	path, err := exec.LookPath("commandlines")
	require.NoError(st.t, err)
	cmd := &exec.Cmd{Path: path, Args: []string{"commandlines"}, Env: append(st.environ(), "INTERCOM_TESTED="+thisProgram()), Dir: st.home, Stderr: os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	to, err := cmd.StdinPipe()
	require.NoError(st.t, err)
	from, err := cmd.StdoutPipe()
	require.NoError(st.t, err)
	require.NoError(st.t, cmd.Start())
	st.t.Cleanup(func() {
		_ = to.Close()
		assert.NoError(st.t, cmd.Wait())
	})
	ask, answers := json.NewEncoder(to), json.NewDecoder(from)
	st.lines = func(words []string) (a answered) {
		st.t.Helper()
		var line [][]byte
		for _, word := range words {
			line = append(line, []byte(word))
		}
		require.NoError(st.t, ask.Encode(line))
		require.NoError(st.t, answers.Decode(&a), "%q", words)
		return a
	}
}

// errs checks a command that ends with an error, without a terminal.
func (st *errorStage) errs(words []string, c wrong) {
	st.t.Helper()
	what := strings.Join(words, " ")
	out, told, code := st.apart(words...)
	assert.Equal(st.t, c.code, code, "%s: %s", what, told)
	lines := strings.Split(strings.TrimSuffix(told, "\n"), "\n")
	kind := "error"
	if code == 5 { // a held message has an id, and its reason is shown at once
		kind = "note"
	} else {
		assert.Empty(st.t, out, what)
		assert.Len(st.t, lines, 2, "%s: %s", what, told)
	}
	if assert.GreaterOrEqual(st.t, len(lines), 2, "%s: %s", what, told) {
		assert.Regexp(st.t, `^intercom: `+kind+`: .*(`+c.err+`)`, lines[len(lines)-2], what)
		assert.Regexp(st.t, `^intercom: hint: .*(`+c.hint+`)`, lines[len(lines)-1], what)
	}
	harmless(st.t, what, told+out)
}

// atTerminal runs a command at a terminal, with NO_COLOR, and returns everything that it shows.
func (st *errorStage) atTerminal(words ...string) string {
	st.t.Helper()
	cmd := &exec.Cmd{Path: thisProgram(), Args: append([]string{"intercom", "--server=" + st.Socket}, words...), Env: append(st.environ(), "NO_COLOR=1"), Dir: st.home}
	terminal, err := pty.Start(cmd)
	require.NoError(st.t, err)
	defer terminal.Close()
	shown, _ := io.ReadAll(terminal) // reading ends with an error when the program ends
	_ = cmd.Wait()
	text := strings.ReplaceAll(string(shown), "\r\n", "\n")
	harmless(st.t, strings.Join(words, " "), text)
	return text
}
