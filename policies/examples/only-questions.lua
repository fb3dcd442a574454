-- Only questions interrupt. Where a chat lets an agent read messages while it works, it reads there
-- what asks it something; an update waits for the end of its turn. Your own words interrupt too.
--
--   intercom chat start %1 %2 --set door=auto --set deliver=mid-turn

local asks = intercom.re [[\?\s*$]]

intercom.on("guard", function(msg)
  local question = msg.type == "question" or msg.requires_response or asks:test(msg.body)
  if msg.origin ~= "human" and not question then
    return intercom.deliver { idle = true, reason = "no question" }
  end
end)
