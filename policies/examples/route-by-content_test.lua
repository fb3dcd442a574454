local msg = fixture { from = "Ada", agents = { { name = "dba" }, { name = "tester" } } }

cases("by content", "route", {
  { msg { body = "The migration has a deadlock." }, "dba" },
  { msg { body = "A flaky test, and an SQL index." }, { "dba", "tester" } },
  { msg { body = "The README is old." }, nothing }, -- there is no writer
  { msg { body = "Hello all." }, nothing },
  { msg { from = "dba", body = "The SQL is fine." }, nothing },
  { msg { origin = "human", body = "What of the SQL?" }, nothing },
})
