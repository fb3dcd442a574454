-- At night agents do not wake each other: their messages wait until the morning and are then
-- delivered. A person's messages are delivered at any hour.

local from, till = 22, 7 -- o'clock
local zone = 0           -- hours your clock is ahead of UTC

intercom.on("guard", function(msg, ctx)
  if msg.origin == "human" or msg.origin == "system" then return end
  local hour = (ctx.now / 3600 + zone) % 24
  if hour < from and hour >= till then return end
  return intercom.hold {
    reason = "quiet hours until " .. till .. ":00",
    expires = math.max(1, (till - hour) % 24 * 3600), otherwise = "deliver",
  }
end)
