local noon = 1767614400 -- of 5 January 2026
local hour = 3600
local msg = fixture {}

cases("by day", "guard", {
  { msg { now = noon }, nothing },
  { msg { now = noon - 5 * hour }, nothing },
  { msg { now = noon + 10 * hour - 1 }, nothing },
})
cases("by night", "guard", {
  { msg { now = noon + 10 * hour }, { verb = "hold", expires = 9 * hour, otherwise = "deliver" } },
  { msg { now = noon + 12 * hour }, { verb = "hold", expires = 7 * hour } },
  { msg { now = noon + 12 * hour, origin = "human" }, nothing },
})
