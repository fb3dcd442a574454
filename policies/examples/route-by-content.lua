-- Routes a message to the experts on its topic. Messages without a topic, and a person's
-- messages, go where they were sent.

local experts = {
  { name = "dba",    about = intercom.re [[(?i)\b(?:sql|migration|deadlock|index(?:es)?)\b]] },
  { name = "tester", about = intercom.re [[(?i)\b(?:flaky|test (?:fails|failed|failure)|coverage)\b]] },
  { name = "writer", about = intercom.re [[(?i)\b(?:readme|changelog|docs?/)]] },
}

intercom.on("route", function(msg, ctx)
  if msg.origin == "human" or msg.origin == "system" then return end
  local names = {}
  for _, expert in ipairs(experts) do
    if expert.name ~= msg.from and ctx.agent(expert.name) and expert.about:test(msg.body) then
      table.insert(names, expert.name)
    end
  end
  if #names > 0 then return names end
end)
