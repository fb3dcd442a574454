-- What looks like a secret does not leave: you are asked first. Keys of well-known shapes are
-- masked before this policy sees the message; it finds the mask, and what is named a secret.

local masked = intercom.re [[\[redacted: ]]
local named = intercom.re [[(?i)\b(password|passwd|passphrase|secret|token|api[_-]?key)\b["']?\s*[:=]\s*\S{6,}]]

intercom.on("guard", function(msg)
  if msg.origin == "human" then return end
  for _, text in ipairs { msg.body, msg.subject } do
    if masked:test(text) then return intercom.ask { reason = "holds a secret, which is masked" } end
    if named:test(text) then return intercom.ask { reason = "may hold a secret" } end
  end
end)
