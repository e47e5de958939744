-- Armed sessions whose step has been due for overdueMs, put off by holdMs so that nobody else takes them.
-- a: limit, holdMs, overdueMs, prefix
-- returns { { id, record fields… }, … }
local due = redis.call('ZRANGEBYSCORE', K.armed, '-inf', now - a.overdueMs, 'LIMIT', 0, a.limit)
local taken = {}
for _, id in ipairs(due) do
  local fields = redis.call('HMGET', a.prefix .. id, 'srv', 'prj', 'path', 'gen', 'at', 'nt', 'st', 'arm')
  if fields[8] == '1' then
    redis.call('ZADD', K.armed, now + a.holdMs, id)
    taken[#taken + 1] = {
      id = id, srv = fields[1], prj = fields[2], path = fields[3], gen = fields[4], at = fields[5],
      nt = fields[6] or nil, st = fields[7],
    }
  else
    redis.call('ZREM', K.armed, id)
  end
end
if #taken == 0 then return '[]' end
return reply(taken)
