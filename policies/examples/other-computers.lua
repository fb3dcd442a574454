-- What other computers say goes by which one it is. init.lua says what each may do at all
-- (computers = { server = { may = { … } } }): this decides about what it may send.

local trusted = { server = true }
local nobody = { "deploy" } -- sessions that no other computer writes to

intercom.on("decide", function(msg, ctx)
  if ctx.computer == "local" then return end
  for _, name in ipairs(nobody) do
    if msg.to == name then return intercom.drop { reason = name .. " takes nothing from other computers" } end
  end
  if not trusted[ctx.computer] then return intercom.ask { reason = "from " .. ctx.computer } end
end)
