local msg = fixture {
  from = "beta", trust = "loopback-unverified", meta = { port = "9001", sender_port = "9002" }, agents = { { name = "claude" } },
}

cases("a port's messages go into a pane", "route", {
  { msg { body = "Hello." }, "claude" },
  { msg { meta = { port = "9001", sender_port = "9003" } }, nothing }, -- not expected
  { msg { meta = { port = "9005", sender_port = "9002" } }, nothing }, -- another port
  { msg { trust = "session-verified" }, nothing }, -- no port at all
  { msg { agents = {} }, nothing }, -- there is no such pane
})

cases("a person is asked first", "decide", {
  { msg { body = "Hello." }, "ask" },
  { msg { trust = "session-verified" }, nothing },
})
