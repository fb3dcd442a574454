-- At night nothing that an agent says wakes another one: it waits until the morning, and goes
-- then by itself. What a person says goes at any hour.

local from, till = 22, 7 -- o'clock
local zone = 0           -- hours that your clock is ahead of UTC

intercom.on("guard", function(msg, ctx)
  if msg.origin == "human" or msg.origin == "system" then return end
  local hour = (ctx.now / 3600 + zone) % 24
  if hour < from and hour >= till then return end
  return intercom.hold {
    reason = "quiet hours until " .. till .. ":00",
    expires = math.max(1, (till - hour) % 24 * 3600), otherwise = "deliver",
  }
end)
