-- Takes due items under a lease: whoever dies with one leaves it due again.
-- KEYS  1 due times  2 items      ARGV  1 lease in ms  2 how many at most
-- returns JSON: [{ id, type, atMs, tries, data }], `tries` with this one; '[]' where none is due
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])) do
  local found = redis.call('HGET', KEYS[2], id)
  if found then
    local item = cjson.decode(found)
    item.tries = item.tries + 1
    redis.call('HSET', KEYS[2], id, cjson.encode(item))
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), id)
    item.id = id
    item.ageMs = now - item.atMs
    table.insert(taken, item)
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
if #taken == 0 then return '[]' end
return cjson.encode(taken)
