-- Shared by every script: one order of keys, the clock, the record's codec, the trail.
-- KEYS  1 session  2 session trail  3 notes made once  4 trail stream  5 armed index  6 session index
--       7 pause    8 budget of the hour  9 slots of running nudged turns  10 streak  11 settings  12 delivery mark
--       13 sessions that nobody watches and whose turn has begun
-- ARGV  1 arguments as JSON  2 session TTL in ms
-- Every script returns one JSON text. Time is Redis time, epoch milliseconds.

local RECORD_VERSION = 1
local SESSION_TRAIL_LENGTH = 60
local STREAM_LENGTH = 20000
local LIST_LIMIT = 200

local K = {
  session = KEYS[1], sessionTrail = KEYS[2], once = KEYS[3], trail = KEYS[4], armed = KEYS[5], sessions = KEYS[6],
  pause = KEYS[7], hour = KEYS[8], slots = KEYS[9], streak = KEYS[10], settings = KEYS[11], mark = KEYS[12], unwatched = KEYS[13],
}
local a = cjson.decode(ARGV[1])
local ttl = tonumber(ARGV[2])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Adds the session to an index by time. Members whose record has expired go: a busy index itself never does.
local function index(key)
  redis.call('ZADD', key, now, a.id)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ttl)
  redis.call('PEXPIRE', key, ttl)
end

local function reply(value) return cjson.encode(value) end

-- The record as a table of strings; empty where there is none.
local function load(key)
  local flat = redis.call('HGETALL', key or K.session)
  local rec = {}
  for i = 1, #flat, 2 do rec[flat[i]] = flat[i + 1] end
  return rec
end

local function exists(rec) return rec.v ~= nil end
local function isNewer(rec) return tonumber(rec.v or '0') > RECORD_VERSION end
local function number(value) return tonumber(value or '') end
local function decoded(text) if text == nil then return nil end return cjson.decode(text) end

-- Writes the changed fields (false removes one), marks the session as changed now and lets it live for another TTL.
local function save(rec, changes)
  local set, del = {}, {}
  changes.v = RECORD_VERSION
  changes.up = now
  for field, value in pairs(changes) do
    if value == false then
      del[#del + 1] = field
      rec[field] = nil
    else
      set[#set + 1] = field
      set[#set + 1] = tostring(value)
      rec[field] = tostring(value)
    end
  end
  redis.call('HSET', K.session, unpack(set))
  if #del > 0 then redis.call('HDEL', K.session, unpack(del)) end
  redis.call('PEXPIRE', K.session, ttl)
  index(K.sessions)
end

-- One line for people: in the stream that everybody reads, and in the session's own short list.
local function trail(rec, kind, reason, detail)
  local entry = { atMs = now, sessionId = a.id, server = rec.srv or a.server or '', project = rec.prj or '', kind = kind }
  if reason then entry.reason = reason end
  -- What has a correlation id is told with it: one id from the webhook to the nudge.
  if a.cid then
    detail = detail or {}
    detail.cid = detail.cid or a.cid
  end
  if detail then entry.detail = detail end
  local text = cjson.encode(entry)
  redis.call('XADD', K.trail, 'MAXLEN', '~', STREAM_LENGTH, '*', 'e', text)
  redis.call('PEXPIRE', K.trail, ttl)
  redis.call('RPUSH', K.sessionTrail, text)
  redis.call('LTRIM', K.sessionTrail, -SESSION_TRAIL_LENGTH, -1)
  redis.call('PEXPIRE', K.sessionTrail, ttl)
end

local function arm(atMs)
  redis.call('ZADD', K.armed, atMs, a.id)
  redis.call('PEXPIRE', K.armed, ttl)
end
local function disarm() redis.call('ZREM', K.armed, a.id) end

-- A turn began in a session that nobody watches: should its end be lost, it is found by this index.
local function expectEnd(rec)
  if rec.arm == '1' then return end
  index(K.unwatched)
end
local function endExpected() redis.call('ZREM', K.unwatched, a.id) end

local function contains(list, value)
  for _, item in ipairs(list or {}) do if item == value then return true end end
  return false
end

-- Adds values to a JSON list of the record, oldest dropped past the limit; nil where nothing is new.
local function extended(text, values)
  local list = decoded(text) or {}
  local changed = false
  for _, value in ipairs(values) do
    if not contains(list, value) then
      list[#list + 1] = value
      changed = true
    end
  end
  while #list > LIST_LIMIT do table.remove(list, 1) end
  if not changed then return nil end
  return cjson.encode(list)
end

-- The settings in force for the session's project; nil where no watcher has published them yet.
local function settingsOf(rec)
  return decoded(redis.call('HGET', K.settings, rec.srv .. '\n' .. rec.prj) or nil)
end

local function pauseState()
  local by = redis.call('HGET', K.pause, 'by')
  if not by then return nil end
  return { by = by, since = redis.call('HGET', K.pause, 'since') }
end

local function freeSlot() redis.call('ZREM', K.slots, a.id) end

-- The unsent or definitely refused attempt costs nothing: counter and budget go back.
local function giveBack(rec, attempt, changes)
  if attempt.kind ~= 'auto' then return end
  changes.tries = math.max(0, (number(rec.tries) or 0) - 1)
  redis.call('ZREM', K.hour, attempt.id)
  freeSlot()
end

-- A nudge without effect: five in a row and recovery pauses itself.
local function countFailure(rec)
  local streak = redis.call('INCR', K.streak)
  redis.call('PEXPIRE', K.streak, ttl)
  if streak < 5 or redis.call('EXISTS', K.pause) == 1 then return false end
  redis.call('HSET', K.pause, 'by', 'itself', 'since', now)
  trail(rec, 'paused', 'paused-itself', { streak = streak })
  return true
end

local function settleAttempt(attempt, outcome, detail)
  attempt.phase = 'settled'
  attempt.outcome = outcome
  attempt.detail = detail
  attempt.settledMs = now
  attempt.leaseUntilMs = 0
  attempt.owner = nil
end

local function restingState(rec)
  if rec.nt then return 'killed' end
  if rec.arm == '1' then return 'watching' end
  return 'idle'
end
