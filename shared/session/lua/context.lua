-- Everything that an evaluation needs. a: id
-- returns { now, rec?, settings?, pause? }
local rec = load()
local result = { now = now, pause = pauseState() }
if exists(rec) then
  result.rec = rec
  result.settings = settingsOf(rec)
end
return reply(result)
