local msg = fixture {}

cases("secrets", "guard", {
  { msg { body = "use [redacted: GitHub token]" }, { verb = "ask", reason = "holds a secret, which is masked" } },
  { msg { body = [[{"password": "correct horse"}]] }, { verb = "ask", reason = "may hold a secret" } },
  { msg { body = "export DB_PASSWORD=hunter22" }, "ask" },
  { msg { body = "client_secret: abcdef0123" }, "ask" },
  { msg { subject = "API_KEY=0123456789" }, "ask" },
  { msg { tags = { "x", "[redacted: AWS key]" } }, "ask" },
  { msg { meta = { access_token = "0123456789" } }, "ask" },
})
cases("none", "guard", {
  { msg { body = "The token expires after an hour." }, nothing },
  { msg { body = "password: ***" }, nothing },
  { msg { body = "password = correct horse", origin = "human" }, nothing },
})
