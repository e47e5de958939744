-- How the queue stands, and, where a worker is named, that this worker is alive (or, with no time to live, that it is gone).
-- KEYS 1 workers alive  2 delayed jobs  3 waiting jobs  4 the queue's own settings     ARGV 1 worker or ''  2 time to live in ms
-- returns { now, workers, overdue, overdueMs, waiting, oldestWaiting?, paused }
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ttl = tonumber(ARGV[2])

if ARGV[1] ~= '' then
  if ttl > 0 then
    redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
    redis.call('PEXPIRE', KEYS[1], ttl * 2)
  else
    redis.call('ZREM', KEYS[1], ARGV[1])
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)

-- BullMQ scores a delayed job by its due moment times 4096.
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
return cjson.encode({
  now = now,
  workers = redis.call('ZRANGE', KEYS[1], 0, -1),
  overdue = redis.call('ZCOUNT', KEYS[2], '-inf', (now + 1) * 4096 - 1),
  overdueMs = first[2] and math.max(0, now - math.floor(first[2] / 4096)) or 0,
  waiting = redis.call('LLEN', KEYS[3]),
  oldestWaiting = redis.call('LINDEX', KEYS[3], -1) or nil,
  paused = redis.call('HEXISTS', KEYS[4], 'paused') == 1,
})
