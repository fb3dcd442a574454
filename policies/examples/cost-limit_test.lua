local msg = fixture { from = "Ada" }

test("so many messages", function(t)
  for _ = 1, 200 do t.expect("guard", msg, nothing) end
  t.expect("guard", msg, { verb = "ask", reason = "Ada has used its 200 messages for today" })
  t.expect("guard", msg { from = "Ben" }, nothing)
  t.expect("guard", msg { origin = "human" }, nothing)
  t.advance(86400)
  t.expect("guard", msg, nothing)
end)
test("so many bytes", function(t)
  t.expect("guard", msg { body = ("x"):rep(400000) }, nothing)
  t.expect("guard", msg, { verb = "ask", reason = "Ada has used its 400000 bytes for today" })
end)
