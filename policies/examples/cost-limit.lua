-- Limits how much each agent may make the others read per day: what they read costs money. They
-- read at most so many messages and bytes from each; beyond that a person is asked about each. A
-- message to three recipients counts three times.

local messages = 200
local bytes = 400 * 1000

intercom.on("guard", function(msg, ctx)
  if msg.origin == "human" or msg.origin == "system" then return end
  local day = math.floor(ctx.now / 86400)
  if ctx.get("day " .. msg.from) ~= day then
    ctx.set("day " .. msg.from, day)
    ctx.set("messages " .. msg.from, 0)
    ctx.set("bytes " .. msg.from, 0)
  end
  local read = ctx.get("messages " .. msg.from) + 1
  local size = ctx.get("bytes " .. msg.from) + #msg.body
  ctx.set("messages " .. msg.from, read)
  ctx.set("bytes " .. msg.from, size)
  if read > messages then return intercom.ask { reason = msg.from .. " has used its " .. messages .. " messages for today", notify = "status" } end
  if size > bytes then return intercom.ask { reason = msg.from .. " has used its " .. bytes .. " bytes for today", notify = "status" } end
end)
