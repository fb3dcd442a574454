-- No agent's words reach one that acts without asking its person: one that was started with
-- --dangerously-skip-permissions, --yolo and the like. Known on Linux, from the options of its
-- program when a message is decided: not of one that a script is still about to start, and not
-- what its settings allow.

intercom.on("guard", function(msg, ctx)
  local agent = ctx.agent(msg.to)
  if msg.origin ~= "human" and agent and agent.bypasses then
    return intercom.bounce { reason = msg.to .. " bypasses permissions", text = msg.to .. " takes messages of its person only." }
  end
end)
