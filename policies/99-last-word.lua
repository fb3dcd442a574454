-- The last word, where no other policy has decided.
--
-- What is said in a chat goes to the others in it: a person has put them together. What a
-- person says, and the sidecar itself, and an agent here that is known by its process, goes
-- too. About everything else (who reached a port, another computer, a repository with a word
-- that nobody knows) nothing is decided, so that a person is asked.

intercom.on("decide", function(msg, ctx)
  if ctx.chat then return intercom.deliver { reason = "said in a chat" } end
  if msg.origin == "human" or msg.trust == "person" then return intercom.deliver { reason = "a person's word" } end
  if msg.origin == "system" then return intercom.deliver { reason = "of the sidecar itself" } end
  if msg.trust == "session-verified" then return intercom.deliver { reason = "an agent that is known" } end
end)
