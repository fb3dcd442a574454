-- Asks you about each message once a chat has used so many tokens.
-- Tokens are those that agents write down: fresh input and output. `chats = { tokens = … }` in
-- init.lua pauses the whole chat instead.

local most = 500 * 1000

intercom.on("guard", function(msg, ctx)
  if msg.origin == "human" or not ctx.chat or ctx.chat.tokens < most then return end
  return intercom.ask { reason = ("%d tokens of %d are used"):format(ctx.chat.tokens, most), notify = "status" }
end)
