local function used(tokens) return { participants = { "Ada", "Ben" }, tokens = tokens } end

cases("tokens of a chat", "guard", {
  { fixture { chat = used(499999) }, nothing },
  { fixture { chat = used(500000) }, { verb = "ask", reason = "500000 tokens of 500000 are used" } },
  { fixture { chat = used(500000), origin = "human" }, nothing },
  { fixture {}, nothing },
})
