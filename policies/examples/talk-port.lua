-- Routes what comes to a talk port into a pane: from the ports that you expect. Needs
-- `intercom talk listen start --port 9001 --route`. Anything else stays in the inbox, where
-- `intercom talk check` finds it.
--
-- Who sends is what the sender says: any program of yours could say the same. So a person is
-- asked before it is typed; return intercom.deliver() there once you are sure.

local into = { ["9001"] = { pane = "claude", from = { ["9002"] = true } } } -- by port

intercom.on("route", function(msg, ctx)
  local where = into[msg.meta.port]
  if msg.trust ~= "loopback-unverified" or not where then return end
  if where.from[msg.meta.sender_port] and ctx.agent(where.pane) then return where.pane end
end)

intercom.on("decide", function(msg, ctx)
  if msg.trust == "loopback-unverified" and into[msg.meta.port] then
    return intercom.ask { reason = "from port " .. msg.meta.sender_port .. ", unverified" }
  end
end)
