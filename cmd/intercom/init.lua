-- init.lua: how messages between programs look, and what happens to them.
-- Everything below is a comment: without settings, the shipped policies and defaults apply.
--
--   intercom policy check           finds mistakes in this file and policies/*.lua
--   intercom policy explain --all   what happens to each message type and priority
--   intercom policy test            runs *_test.lua beside init.lua and policies

-- intercom.configure {
--   computer = "workshop",                     -- the name of this machine
--   attribution = "[{name}] ({number}):",      -- text before each message
--   chats = { depth = 20, rate = 20 },         -- settings of every new chat, as chat start --set takes them
-- }

-- A rule decides about all messages with certain values. The first answer counts.
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
