-- A reviewer hears agents first, and lets them be heard by all: messages go to the reviewer
-- alone until the reviewer writes APPROVED at the start of a line; then the next message goes to
-- everybody, and the gate closes again. The reviewer is heard by all.
--
--   intercom chat start %1 %2 %3 --role %2=reviewer
--
-- The reviewer is an agent, so this is not a person's approval; for that use intercom.ask.

local word = intercom.re [[(?m)^\s*(APPROVED|REJECTED)\b]]

local function reviewer(ctx)
  for _, name in ipairs(ctx.chat.participants) do
    local agent = ctx.agent(name)
    if agent and agent.role == "reviewer" then return name end
  end
end

intercom.on("route", function(msg, ctx)
  if not ctx.chat or msg.origin == "human" or msg.origin == "system" then return end
  local gate = reviewer(ctx)
  if not gate then return end
  local open = "open " .. ctx.thread
  if msg.from == gate then
    local said = word:match(msg.body)
    if said == "APPROVED" then ctx.set(open, true) end
    if said == "REJECTED" then ctx.set(open, nil) end
    return
  end
  if ctx.get(open) then
    ctx.set(open, nil)
    return
  end
  return gate
end)
