-- Removes secrets of well-known shapes from every message (body, subject, tags and meta) before
-- anybody else sees it.
--
-- Only unmistakable shapes are listed: keys that start with their maker's prefix, private keys,
-- tokens. A password in a sentence is not found. Put your own patterns into a policy of your
-- own: all filters run, this one last.
--
-- If this file fails, the message is held: nothing leaves unfiltered.

-- Each shape is a name, its prefixes, and what follows them. A text without the prefix costs next
-- to nothing. With word = true the match must start a word.
local shapes = {
  { "AWS key", { "AKIA", "ASIA", "ABIA", "ACCA" }, [[[A-Z0-9]{16}]] },
  { "AWS secret key", { "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY" }, [[["']?\s*[:=]\s*["']?[A-Za-z0-9/+]{40}]] },
  { "GitHub token", { "ghp_", "gho_", "ghu_", "ghs_", "ghr_" }, [[[A-Za-z0-9]{36,}]] },
  { "GitHub token", { "github_pat_" }, [[[A-Za-z0-9_]{40,}]] },
  { "GitLab token", { "glpat-" }, [[[A-Za-z0-9_-]{20,}]] },
  { "Anthropic key", { "sk-ant-" }, [[[A-Za-z0-9_-]{16,}]] },
  { "OpenAI key", { "sk-proj-", "sk-svcacct-", "sk-admin-" }, [[[A-Za-z0-9_-]{20,}]] },
  { "API key", { "sk-" }, [[(?:or-v1-)?[A-Za-z0-9]{32,}]], word = true },
  { "Google key", { "AIza" }, [[[A-Za-z0-9_-]{35}]] },
  { "Google secret", { "GOCSPX-" }, [[[A-Za-z0-9_-]{28}]] },
  { "Google token", { [[ya29\.]] }, [[[A-Za-z0-9_-]{20,}]] },
  { "Slack token", { "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-" }, [[[A-Za-z0-9-]{10,}]] },
  { "Slack token", { "xapp-" }, [[[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{32,}]] },
  { "Slack webhook", { [[hooks\.slack\.com/services/]] }, [[T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}]] },
  { "Stripe key", { "sk_live_", "rk_live_" }, [[[A-Za-z0-9]{16,}]] },
  { "npm token", { "npm_" }, [[[A-Za-z0-9]{36}]] },
  { "PyPI token", { "pypi-AgEIcHlwaS5vcmc" }, [[[A-Za-z0-9_-]{50,}]] },
  { "Hugging Face token", { "hf_" }, [[[A-Za-z]{34}]], word = true },
  { "SendGrid key", { [[SG\.]] }, [[[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}]] },
  { "age key", { "AGE-SECRET-KEY-1" }, [[[A-Z0-9]{58}]] },
  { "JSON web token", { "eyJ" }, [[[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}]] },
  { "authorization", { "Authorization", "authorization" }, [[\\?["']?\s*[:=]\s*\\?["']?(?:[Bb]earer|[Bb]asic|[Tt]oken) [A-Za-z0-9._~+/=-]{16,}]] },
  -- A key without its END line is masked as far as its lines go.
  { "private key", { "-----BEGIN " }, [[[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:[\s\\n]*[A-Za-z0-9+/=]{16,})+)]] },
}

local patterns = {}
local marks = {}
for _, shape in ipairs(shapes) do
  for _, mark in ipairs(shape[2]) do
    table.insert(marks, mark)
    local pattern = mark .. shape[3]
    table.insert(patterns, {
      mask = "[redacted: " .. shape[1] .. "]",
      likely = intercom.re(pattern), -- fast: searched by its prefix, which \b does not have
      whole = intercom.re(shape.word and [[\b]] .. pattern or pattern),
    })
  end
end

-- A short text, as most are beside the body, is searched for all prefixes at once.
local short = 512
local marked = intercom.re(table.concat(marks, "|"))

-- masked returns a text without its secrets, and how many it had.
local function masked(text)
  local found = 0
  if #text <= short and not marked:test(text) then return text, found end
  for _, pattern in ipairs(patterns) do
    if pattern.likely:test(text) then
      local n
      text, n = pattern.whole:replace(text, pattern.mask)
      found = found + n
    end
  end
  return text, found
end

intercom.on("filter", function(msg, ctx)
  local found = 0
  -- clean returns a text without its secrets, nil if it has none. A secret may be taken apart by an
  -- escape sequence, as of a coloured match, or by a character that is not seen.
  local function clean(text)
    if text == "" then return end
    local without, n = masked(intercom.shown(text))
    found = found + n
    if n > 0 then return without end
  end
  local patch = { body = clean(msg.body), subject = clean(msg.subject) }
  local tags = msg.tags
  for i, tag in ipairs(tags) do
    local without = clean(tag)
    if without then
      tags[i] = without
      patch.tags = tags
    end
  end
  for key, value in pairs(msg.meta) do
    local without = clean(value)
    if without then
      patch.meta = patch.meta or {}
      patch.meta[key] = without
    end
  end
  if found == 0 then return end
  ctx.log("redacted: " .. found)
  return patch
end)
