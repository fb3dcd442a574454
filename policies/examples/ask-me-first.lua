-- What these two say to each other waits for your yes: put the names of yours there. All others talk freely.

local pair = { Ada = "Ben", Ben = "Ada" }

intercom.on("guard", function(msg)
  if msg.origin ~= "human" and pair[msg.from] == msg.to then
    return intercom.ask { reason = msg.from .. " to " .. msg.to .. " needs my yes" }
  end
end)
