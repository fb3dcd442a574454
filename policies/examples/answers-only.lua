-- A reviewer may answer, but not begin: it speaks once for each time that it is spoken to. A role
-- is one in a chat: what the reviewer sends outside of it is not looked at.
--
--   intercom chat start %1 %2 --role %2=reviewer

local function reviews(ctx, name)
  local agent = ctx.agent(name)
  return agent and agent.role == "reviewer"
end

intercom.on("guard", function(msg, ctx)
  -- Its words go to several recipients; the first one counts.
  if msg.origin ~= "human" and reviews(ctx, msg.from) and ctx.get("answer " .. msg.from) ~= msg.id then
    if not ctx.get("asked " .. msg.from) then
      return intercom.bounce { reason = "a reviewer answers only", text = "Wait until you are asked." }
    end
    ctx.set("asked " .. msg.from, nil)
    ctx.set("answer " .. msg.from, msg.id)
  end
  if msg.origin ~= "system" and reviews(ctx, msg.to) then ctx.set("asked " .. msg.to, true) end
end)
