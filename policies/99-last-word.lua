-- Decides if no other policy did.
--
-- Delivered are: words in a chat, since a person put its members together; a person's words; the
-- sidecar's own messages; messages of local agents that are identified by their process; and those
-- of other computers that may send here (computers in init.lua: what they may not do is refused before).
-- Nothing is decided about the rest (from a port, or a repository with an unknown message type), so a
-- person is asked.

intercom.on("decide", function(msg, ctx)
  if ctx.chat then return intercom.deliver { reason = "said in a chat" } end
  if msg.origin == "human" or msg.trust == "person" then return intercom.deliver { reason = "a person's word" } end
  if msg.origin == "system" then return intercom.deliver { reason = "from the sidecar itself" } end
  if msg.trust == "session-verified" then return intercom.deliver { reason = "a verified agent" } end
  if msg.trust == "remote" then return intercom.deliver { reason = "another computer may send here" } end
end)
