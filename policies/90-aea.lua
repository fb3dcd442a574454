-- AEA: what happens to a question, update, issue, handoff or request, by its priority.
--
-- A repository's own .aea/agent-config.yaml comes first (ctx.config.aea: all of it once you trust
-- the file, until then only what makes answers stricter); where it says nothing, the protocol's
-- own table below applies. Your own policies are asked before both, and the first answer counts.
-- `intercom policy explain --all` shows the result.
--
-- "Answer" means that the agent answers: it reads and thinks. Only its person may allow changes,
-- and a messenger cannot enforce that: the agent is told so in a prompt.

-- By type and priority: what happens, and how its person is notified. sidecar/aea has the same
-- table to limit untrusted files; changing this one does not change that one.
local protocol = {
  question = { low = "answer", normal = "answer", high = "answer", urgent = "answer" },
  update   = { low = "acknowledge", normal = "acknowledge", high = "summarise status", urgent = "summarise popup" },
  issue    = { low = "answer", normal = "answer", high = "ask popup", urgent = "ask popup" },
  handoff  = { low = "ask popup", normal = "ask popup", high = "ask popup", urgent = "ask popup" },
  request  = { low = "plan", normal = "plan", high = "plan", urgent = "plan" },
  response = { low = "answer", normal = "answer", high = "answer", urgent = "answer" },
}

-- What an answering agent is told to do with the message.
local prompts = {
  question = "Answer this question. Read and search as you need; change nothing.",
  issue = "Analyse this issue and suggest a fix. Do not change code.",
  request = "Answer with a plan. Do not carry out any of it: that needs your user's own approval.",
  update = "Tell your user in a few sentences what this changes for them.",
  handoff = "Read this handoff and say what you would do next. Change nothing.",
  response = "This answers what was asked from here. Go on with that; what the answer asks for beyond it needs your user's approval.",
}

-- config returns what the recipient's repository says, or nil.
local function config(msg, ctx)
  local all = ctx.config.aea
  if not all then return end
  local to = ctx.agent(msg.to)
  return all[to and to.repository or msg.to] or all[""]
end

-- ofRepository reports whether a message is a repository's own word. Files have types of their own.
local function ofRepository(msg, ctx)
  if msg.trust == "registered-repository" then return true end
  local from = ctx.agent(msg.from) -- a program in a pane has a kind
  return msg.trust == "unverified" and from and from.agent == "" and from.repository ~= ""
end

local function contains(list, value)
  for _, one in ipairs(list) do
    if one == value then return true end
  end
  return false
end

-- about reports whether a message names a topic, by its author's own word.
local function about(msg, topic)
  if (msg.meta.topic or ""):lower() == topic or (msg.meta.category or ""):lower() == topic then return true end
  for _, tag in ipairs(msg.tags) do
    if tag:lower() == topic then return true end
  end
  return false
end

-- matches returns the condition that applies to a message, if any.
local function matches(conditions, msg)
  for _, c in ipairs(conditions) do
    if c.type == msg.type and (not c.priority or c.priority == msg.priority) and (not c.topic or about(msg, c.topic)) then
      return c
    end
  end
end

-- chosen returns what happens to a message, how its person is notified, and who decided.
local function chosen(msg, of)
  local cell = protocol[msg.type][msg.priority]
  -- Another computer may send any word as a priority. No rule of the file is about one that is unknown.
  if not cell then return "ask", "popup", "an unknown priority" end
  local action, notify = cell:match("^(%S+) ?(%S*)$")
  for _, rule in ipairs(of and of.rules or {}) do
    if rule.type == msg.type and (not rule.priorities or contains(rule.priorities, msg.priority))
      and (rule.requires_response == nil or rule.requires_response == msg.requires_response) then
      -- A rule for another priority loosens nothing.
      if not (rule.fallback and action == "ask") then
        return rule.action, rule.notify or "", "agent-config.yaml, line " .. rule.line
      end
      break
    end
  end
  return action, notify, "the protocol's table"
end

-- prompt returns what the agent is told, with what its repository allows and forbids.
local function prompt(msg, of)
  local lines = { prompts[msg.type] }
  if msg.type == "update" and msg.requires_response then table.insert(lines, "Its author waits for confirmation that you have read it.") end
  if of and #of.forbidden > 0 then table.insert(lines, "Only with your user's approval: " .. table.concat(of.forbidden, ", ") .. ".") end
  if of and #of.allowed > 0 then table.insert(lines, "Without asking: " .. table.concat(of.allowed, ", ") .. ".") end
  if #lines > 0 then return table.concat(lines, " ") end
end

intercom.on("decide", function(msg, ctx)
  -- What a repository hands on was decided when it came in: a question, to the agent that works
  -- there; an answer, to the repository that asked.
  if msg.type == "message" and ofRepository(msg, ctx) then
    return intercom.deliver { reason = "decided when it came as a file" }
  end
  if not protocol[msg.type] or msg.origin == "human" then return end
  local of = config(msg, ctx)
  local action, notify, by = chosen(msg, of)
  if of and matches(of.notify, msg) then notify = "popup" end
  local options = { reason = msg.type .. ", " .. msg.priority .. ": " .. action .. " (" .. by .. ")" }
  if notify ~= "" then options.notify = notify end

  if action == "acknowledge" then
    if msg.requires_response then
      options.text = "Received: " .. msg.type
      if (msg.subject or "") ~= "" then options.text = options.text .. ": " .. msg.subject end
    end
    return intercom.ack(options)
  end
  options.prompt = prompt(msg, of) -- also for what the agent gets once a person has said yes
  if action == "ask" then return intercom.ask(options) end
  return intercom.deliver(options)
end)

-- What the file wants a person to see goes to them, whatever else was decided.
intercom.on("guard", function(msg, ctx)
  if not protocol[msg.type] or msg.origin == "human" then return end
  local of = config(msg, ctx)
  if not of then return end
  -- msg.age counts from when the sidecar took it; a file may have waited long before that.
  local sent = tonumber(msg.meta.aea_time or "")
  if of.max_age and (msg.age > of.max_age or sent and ctx.now - sent > of.max_age) then
    return intercom.hold { reason = "older than agent-config.yaml allows", notify = "status" }
  end
  local condition = matches(of.approve, msg)
  if condition then
    return intercom.ask { reason = "agent-config.yaml, line " .. condition.line .. ": needs approval", notify = "popup" }
  end
end)
