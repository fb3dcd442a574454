local agents = { { name = "Ada" }, { name = "Ben", role = "reviewer" }, { name = "Cyd", role = "reviewer" } }
local ask = fixture { from = "Ada", to = "Ben", agents = agents }
local say = fixture { from = "Ben", to = "Ada", agents = agents }

test("one answer for each question", function(t)
  t.expect("guard", say { id = "1" }, { verb = "bounce", reason = "a reviewer answers only" })
  t.expect("guard", ask {}, nothing)
  t.expect("guard", say { id = "2" }, nothing)
  t.expect("guard", say { id = "2", to = "Dee" }, nothing)
  t.expect("guard", say { id = "3" }, "bounce")
  t.expect("guard", ask { origin = "human" }, nothing)
  t.expect("guard", say { id = "4" }, nothing)
  t.expect("guard", ask { from = "Dee", to = "Ada" }, nothing)
end)
test("what never arrives, and a notice, ask for nothing", function(t)
  t.expect("guard", say { id = "1", to = "Cyd" }, "bounce")
  t.expect("guard", ask { to = "Cyd", origin = "system" }, nothing)
  t.expect("guard", say { id = "2", from = "Cyd" }, "bounce")
end)
