-- init.lua: how messages between programs look, and what becomes of them.
-- Everything below is a comment: without it the shipped policies and defaults hold.
--
--   intercom policy check           what is wrong with this file and policies/*.lua
--   intercom policy explain --all   what becomes of every type and priority of message
--   intercom policy test            runs *_test.lua beside init.lua and policies

-- intercom.configure {
--   computer = "workshop",                     -- the name of this machine
--   attribution = "[{name}] ({number}):",      -- what stands before each text
--   chats = { depth = 20, rate = 20 },         -- settings of every new chat, as chat start --set takes them
-- }

-- A rule decides about all messages that have certain values. The first answer counts.
-- intercom.rule("handoffs wait for me", { type = "handoff" }, intercom.ask { reason = "a handoff", notify = "popup" })

-- A guard may make any decision stricter.
-- intercom.on("guard", function(msg, ctx)
--   if ctx.count(msg.from .. ">" .. msg.to, 60) > 10 then
--     return intercom.ask { reason = "more than ten messages a minute" }
--   end
-- end)

-- A filter changes texts before they leave.
-- local keys = intercom.re [[sk-[\w-]{16,}]]
-- intercom.on("filter", function(msg)
--   return { body = (keys:replace(msg.body, "[redacted]")) }
-- end)
