local msg = fixture { to = "Ben", agents = { { name = "Ben", agent = "claude", bypasses = true }, { name = "Cyd" } } }

cases("who acts without asking", "guard", {
  { msg {}, { verb = "bounce", reason = "Ben bypasses permissions" } },
  { msg { origin = "human" }, nothing },
  { msg { to = "Cyd" }, nothing },
  { msg { to = "Dan" }, nothing },
})
