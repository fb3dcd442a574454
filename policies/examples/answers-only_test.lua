local agents = { { name = "Ada" }, { name = "Ben", role = "reviewer" } }
local ask = fixture { from = "Ada", to = "Ben", agents = agents }
local say = fixture { from = "Ben", to = "Ada", agents = agents }

test("one answer for each question", function(t)
  t.expect("guard", say { id = "1" }, { verb = "bounce", reason = "a reviewer answers only" })
  t.expect("guard", ask {}, nothing)
  t.expect("guard", say { id = "2" }, nothing)
  t.expect("guard", say { id = "2", to = "Cyd" }, nothing)
  t.expect("guard", say { id = "3" }, "bounce")
  t.expect("guard", ask { origin = "human" }, nothing)
  t.expect("guard", say { id = "4" }, nothing)
  t.expect("guard", ask { from = "Cyd", to = "Ada" }, nothing)
end)
