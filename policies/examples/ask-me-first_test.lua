local msg = fixture { from = "Ada", to = "Ben" }

cases("the pair", "guard", {
  { msg {}, { verb = "ask", reason = "Ada to Ben needs my yes" } },
  { msg { from = "Ben", to = "Ada" }, "ask" },
  { msg { origin = "human" }, nothing },
})
cases("all others", "guard", {
  { msg { to = "Cyd" }, nothing },
  { msg { from = "Cyd" }, nothing },
})
