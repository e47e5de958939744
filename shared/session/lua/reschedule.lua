-- The next backstop step of sessions that a sweep took. a: entries { { id, generation, atMs } }, prefix
-- returns the number set; a session that was armed anew meanwhile keeps its own time
local count = 0
for _, entry in ipairs(a.entries) do
  local fields = redis.call('HMGET', a.prefix .. entry.id, 'gen', 'arm')
  if fields[2] == '1' and tonumber(fields[1]) == entry.generation then
    redis.call('ZADD', K.armed, 'XX', entry.atMs, entry.id)
    count = count + 1
  end
end
return reply(count)
