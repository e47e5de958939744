-- Puts notices into the outbox, each episode once; a burst of one type becomes one digest.
-- KEYS  1 cursor in the trail  2 episodes seen  3 due times  4 items  5 rate per type
-- ARGV  1 JSON: { from?, to?, keepMs, limits { single, windowMs, outbox, examples }, notices [{ id, episode, ttlMs, type, data }] }
-- `from` and `to`: the piece of the trail that they were made of. Whoever comes second with it changes nothing.
-- returns JSON: { taken, cursor?, single, digested, known, dropped }
local a = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

if a.to then
  local cursor = redis.call('GET', KEYS[1]) or ''
  if cursor ~= a.from then return cjson.encode({ taken = false, cursor = cursor }) end
  redis.call('SET', KEYS[1], a.to, 'PX', a.keepMs)
end

local result = { taken = true, single = 0, digested = 0, known = 0, dropped = 0 }
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)

local function put(id, item, due)
  redis.call('HSET', KEYS[4], id, cjson.encode(item))
  redis.call('ZADD', KEYS[3], 'NX', due, id)
end

-- How many of this type the present window has seen, this one included, and when it began.
local function counted(type)
  local rate = cjson.decode(redis.call('HGET', KEYS[5], type) or '{"from":0,"count":0}')
  if now - rate.from >= a.limits.windowMs then rate = { from = now, count = 0 } end
  rate.count = rate.count + 1
  redis.call('HSET', KEYS[5], type, cjson.encode(rate))
  return rate
end

local function digest(notice, from)
  local id = 'digest-' .. notice.type .. '-' .. string.format('%d', from)
  local found = redis.call('HGET', KEYS[4], id)
  local item = found and cjson.decode(found) or { type = 'digest', atMs = from, tries = 0, data = { of = notice.type, count = 0, examples = {} } }
  item.data.count = item.data.count + 1
  if #item.data.examples < a.limits.examples then table.insert(item.data.examples, notice.data) end
  put(id, item, from + a.limits.windowMs)
end

for _, notice in ipairs(a.notices) do
  if redis.call('ZSCORE', KEYS[2], notice.episode) then
    result.known = result.known + 1
  elseif redis.call('ZCARD', KEYS[3]) >= a.limits.outbox then
    result.dropped = result.dropped + 1
  else
    redis.call('ZADD', KEYS[2], now + notice.ttlMs, notice.episode)
    local rate = counted(notice.type)
    if rate.count <= a.limits.single then
      put(notice.id, { type = notice.type, atMs = now, tries = 0, data = notice.data }, now)
      result.single = result.single + 1
    else
      digest(notice, rate.from)
      result.digested = result.digested + 1
    end
  end
end
for index = 2, 5 do redis.call('PEXPIRE', KEYS[index], a.keepMs) end
return cjson.encode(result)
