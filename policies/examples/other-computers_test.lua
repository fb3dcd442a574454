local msg = fixture { from = "codex.server", computer = "server", origin = "remote", trust = "remote", type = "message", to = "claude" }

cases("by the computer", "decide", {
  { msg {}, nothing }, -- later policies decide
  { msg { computer = "raspi", from = "codex.raspi" }, "ask" },
  { msg { to = "deploy" }, "drop" },
  { msg { computer = "local", origin = "agent", trust = "session-verified", to = "deploy" }, nothing },
})
