-- A reviewer may answer, but not begin: it speaks once for each time that it is spoken to.
--
--   intercom chat start %1 %2 --role %2=reviewer

local function reviews(ctx, name)
  local agent = ctx.agent(name)
  return agent and agent.role == "reviewer"
end

intercom.on("guard", function(msg, ctx)
  if reviews(ctx, msg.to) then ctx.set("asked " .. msg.to, true) end
  if msg.origin == "human" or not reviews(ctx, msg.from) then return end
  if ctx.get("answer " .. msg.from) == msg.id then return end -- its other recipients
  if not ctx.get("asked " .. msg.from) then
    return intercom.bounce { reason = "a reviewer answers only", text = "Wait until you are asked." }
  end
  ctx.set("asked " .. msg.from, nil)
  ctx.set("answer " .. msg.from, msg.id)
end)
