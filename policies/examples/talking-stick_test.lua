local function circle(holder)
  local agents = { { name = "Hal", role = "harvester", may_speak = holder == "all" } }
  for _, name in ipairs { "Ada", "Ben", "Cyd" } do
    table.insert(agents, { name = name, may_speak = holder == "all" or holder == name })
  end
  return agents
end
local chat = fixture { chat = { participants = { "Ada", "Ben", "Cyd", "Hal" } }, agents = circle("Ada") }

cases("who has the stick is heard, and passes it on", "decide", {
  { chat, { verb = "deliver", reason = "has the stick, and passes it to Ben" } },
  { chat { body = "I pass to cyd." }, { reason = "has the stick, and passes it to Cyd" } },
  { chat { body = "I pass the stick to Hal" }, { reason = "has the stick, and passes it to Ben" } },
  { chat { from = "Cyd", agents = circle("Cyd") }, { reason = "has the stick, and passes it to Ada" } },
  { chat { from = "Ben", agents = circle("all") }, "deliver" },
  { chat { from = "Ben", agents = circle("nobody") }, "deliver" },
})
cases("the others are not", "decide", {
  { chat { from = "Ben", to = "Ada" }, { verb = "drop", reason = "does not have the stick" } },
  { chat { from = "Hal", to = "Ada", agents = circle("all") }, { verb = "drop", reason = "the harvester listens" } },
})
cases("a person may say what they like", "decide", {
  { chat { from = "Eve", origin = "human" }, nothing },
  { chat { from = "Eve", origin = "human", body = "I pass to Cyd" }, nothing },
  { fixture {}, nothing },
})
