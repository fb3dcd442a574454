#!/usr/bin/env python3
"""Share a .team directory as the team lesson's programs do: team.py TEAM_DIR COMMAND... [then COMMAND...]..., locking nothing.

send FROM TO TYPE CONTENT [EXTRA]   append a message; EXTRA is a JSON object of further fields
flood TO PREFIX N                   append N messages, "PREFIX 0" and so on
read NAME                           print what an inbox holds as a JSON list, and empty it
member NAME ROLE STATUS             put a member into config.json, or change it
list                                print the members
dumps                               for each JSON value on standard input print what json.dumps makes of it
"""
import json
import pathlib
import sys
import time

team = pathlib.Path(sys.argv[1])
inbox = team / "inbox"
inbox.mkdir(parents=True, exist_ok=True)


def send(sender, to, kind, content, extra="{}"):
    line = {"type": kind, "from": sender, "content": content, "timestamp": time.time()}
    line.update(json.loads(extra))
    with open(inbox / (to + ".jsonl"), "a") as f:
        f.write(json.dumps(line) + "\n")


def flood(to, prefix, n):
    for i in range(int(n)):
        send("lead", to, "message", "%s %d" % (prefix, i))


def read(name):
    path = inbox / (name + ".jsonl")
    lines = path.read_text().splitlines() if path.exists() else []
    path.write_text("")
    print(json.dumps([json.loads(line) for line in lines if line]))


def config():
    path = team / "config.json"
    return json.loads(path.read_text()) if path.exists() else {"team_name": "default", "members": []}


def member(name, role, status):
    c = config()
    for m in c["members"]:
        if m["name"] == name:
            m.update(role=role, status=status)
            break
    else:
        c["members"].append({"name": name, "role": role, "status": status})
    (team / "config.json").write_text(json.dumps(c, indent=2))


def members():
    c = config()
    print("Team: " + c["team_name"] if c["members"] else "No teammates.")
    for m in c["members"]:
        print("  %s (%s): %s" % (m["name"], m["role"], m["status"]))


def dumps():
    for line in sys.stdin:
        print(json.dumps(json.loads(line)))


commands = {"send": send, "flood": flood, "read": read, "member": member, "list": members, "dumps": dumps}
words = sys.argv[2:]
while words:
    end = words.index("then") if "then" in words else len(words)
    commands[words[0]](*words[1:end])
    words = words[end + 1:]
