-- A moderated meeting: only the participant with the stick is heard. After each message the
-- stick goes to the next number, or to the one it names: "I pass to Ben".
--
--   intercom chat start %1 %2 %3 %4 --role %4=harvester
--
-- A participant with the role harvester hears everything, never has the stick, and is heard by
-- nobody. While nobody has the stick, the first to speak takes it. A person may always speak,
-- and passes the stick with the same words.

local passed = intercom.re [[(?i)\bI pass (?:the stick )?to ([A-Za-z0-9._-]*[A-Za-z0-9_-])]]

local function harvester(ctx, name)
  local agent = ctx.agent(name)
  return agent ~= nil and agent.role == "harvester"
end

-- circle returns the participants who may hold the stick.
local function circle(ctx)
  local names = {}
  for _, name in ipairs(ctx.chat.participants) do
    if not harvester(ctx, name) then table.insert(names, name) end
  end
  return names
end

-- named returns the participant that a text passes the stick to, if it is in the circle.
local function named(ctx, body)
  local to = passed:match(body)
  for _, name in ipairs(circle(ctx)) do
    if to and name:lower() == to:lower() then return name end
  end
end

-- after returns the next participant.
local function after(ctx, from)
  local names = circle(ctx)
  for i, name in ipairs(names) do
    if name == from then return names[i % #names + 1] end
  end
end

local function has(ctx, name)
  local agent = ctx.agent(name)
  return agent ~= nil and agent.may_speak
end

-- holds reports whether a participant may speak now: it has the stick, or nobody here has it
-- (its holder left).
local function holds(ctx, who)
  if harvester(ctx, who) then return false end
  if has(ctx, who) then return true end
  for _, name in ipairs(circle(ctx)) do
    if has(ctx, name) then return false end
  end
  return true
end

intercom.on("decide", function(msg, ctx)
  if not ctx.chat then return end
  if msg.origin == "human" or msg.origin == "system" then
    local to = named(ctx, msg.body)
    if to then ctx.chat:floor(to) end
    return
  end
  if holds(ctx, msg.from) then
    local to = named(ctx, msg.body) or after(ctx, msg.from) or circle(ctx)[1]
    if not to then return end -- nobody is left who may have it
    ctx.chat:floor(to)
    return intercom.deliver { reason = "has the stick, and passes it to " .. to }
  end
  return intercom.drop { reason = harvester(ctx, msg.from) and "the harvester listens" or "does not have the stick" }
end)
