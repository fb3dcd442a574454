local chat = fixture {
  chat = { participants = { "Ada", "Ben", "Cyd" } },
  agents = { { name = "Ada" }, { name = "Ben", role = "reviewer" }, { name = "Cyd" } },
}
local ben = chat { from = "Ben" }

test("an approval lets one message through", function(t)
  t.expect("route", chat, "Ben")
  t.expect("route", ben { body = "Not yet." }, nothing)
  t.expect("route", chat, "Ben")
  t.expect("route", ben { body = "Fine.\nAPPROVED" }, nothing)
  t.expect("route", chat, nothing)
  t.expect("route", chat, "Ben")
end)
test("and can be taken back", function(t)
  t.expect("route", ben { body = "APPROVED" }, nothing)
  t.expect("route", ben { body = "REJECTED, after all" }, nothing)
  t.expect("route", chat, "Ben")
end)
cases("elsewhere nothing changes", "route", {
  { chat { origin = "human" }, nothing },
  { chat { agents = {} }, nothing },
  { fixture {}, nothing },
})
