-- The off switch. a: paused, by
-- returns true where it changed
local rec = {}
a.id = ''
local was = pauseState()
if a.paused then
  if was and was.by == a.by then return reply(false) end
  redis.call('HSET', K.pause, 'by', a.by, 'since', now)
else
  redis.call('DEL', K.streak)
  if not was then return reply(false) end
  redis.call('DEL', K.pause)
end
local entry = cjson.encode({ atMs = now, sessionId = '', server = '', project = '', kind = a.paused and 'paused' or 'resumed', detail = { by = a.by } })
redis.call('XADD', K.trail, 'MAXLEN', '~', STREAM_LENGTH, '*', 'e', entry)
redis.call('PEXPIRE', K.trail, ttl)
return reply(true)
