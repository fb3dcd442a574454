-- One participant of a chat is the hub: it hears everybody, and the others hear only the hub.
-- A message of the hub that begins with "To Ben:" goes to Ben alone; its others go to all.
--
--   intercom chat start %1 %2 %3 --role %1=hub      (without a role, the first one is the hub)

local addressed = intercom.re [[^\s*To ([A-Za-z0-9._-]+):]]

local function hub(ctx)
  for _, name in ipairs(ctx.chat.participants) do
    local agent = ctx.agent(name)
    if agent and agent.role == "hub" then return name end
  end
  return ctx.chat.participants[1]
end

intercom.on("route", function(msg, ctx)
  if not ctx.chat or msg.origin == "human" or msg.origin == "system" then return end
  local center = hub(ctx)
  if msg.from ~= center then return center end
  local name = addressed:match(msg.body)
  for _, participant in ipairs(ctx.chat.participants) do
    if participant == name and name ~= center then return name end
  end
end)
