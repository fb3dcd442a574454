local chat = fixture {
  chat = { participants = { "Ada", "Ben", "Cyd" } },
  agents = { { name = "Ada" }, { name = "Ben", role = "hub" }, { name = "Cyd" } },
}

cases("spokes speak to the hub", "route", {
  { chat { from = "Ada" }, "Ben" },
  { chat { from = "Cyd", body = "To Ada: psst" }, "Ben" },
  { chat { from = "Ada", agents = {} }, nothing }, -- without a role the first is the hub
})
cases("the hub speaks to all, or to one", "route", {
  { chat { from = "Ben" }, nothing },
  { chat { from = "Ben", body = "To Cyd: look at the tests." }, "Cyd" },
  { chat { from = "Ben", body = "To Eve: hello" }, nothing },
})
cases("elsewhere nothing changes", "route", {
  { chat { from = "Ada", origin = "human" }, nothing },
  { fixture { from = "Ada" }, nothing },
})
