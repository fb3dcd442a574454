local msg = fixture { from = "Ada", to = "Ben", body = "The tests are green." }

cases("an update waits for the end of the turn", "guard", {
  { msg {}, { verb = "deliver", idle = true, reason = "no question" } },
  { msg { type = "update" }, { idle = true } },
  { msg { body = "Is it done? Then I go on." }, { idle = true } },
})
cases("a question does not", "guard", {
  { msg { type = "question" }, nothing },
  { msg { requires_response = true }, nothing },
  { msg { body = "Is it done?\n" }, nothing },
  { msg { origin = "human" }, nothing },
})
