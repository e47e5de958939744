-- A line in the trail without a change. a: id, kind, reason?, detail?, once?
-- returns true where it was written
local rec = load()
if not exists(rec) then return reply(false) end
if a.once then
  local isNew = redis.call('SADD', K.once, a.once) == 1
  redis.call('PEXPIRE', K.once, ttl)
  if not isNew then return reply(false) end
end
trail(rec, a.kind, a.reason, a.detail)
return reply(true)
