-- What looks like a secret does not leave: you are asked first. Keys of well-known shapes are
-- masked before this policy sees the message; it finds the mask, and values of things that are
-- called a secret. A password in the middle of a sentence it does not find.

local masked = intercom.re [[\[redacted: ]]
local named = intercom.re [[(?i)(passw(or)?d|passphrase|secret|token|api[_-]?key)[\w-]*["']?\s*[:=]\s*\S{6,}]]

intercom.on("guard", function(msg)
  if msg.origin == "human" then return end
  local texts = { msg.body, msg.subject, table.concat(msg.tags, "\n") }
  for key, value in pairs(msg.meta) do texts[#texts + 1] = key .. "=" .. value end
  for _, text in ipairs(texts) do
    if masked:test(text) then return intercom.ask { reason = "holds a secret, which is masked" } end
    if named:test(text) then return intercom.ask { reason = "may hold a secret" } end
  end
end)
