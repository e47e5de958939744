-- The only way to a nudge: every guard that Redis can check, and the counter raised, in one step.
-- a: id, kind, noticeId, generation, owner, leaseMs, nudgesInTranscript, humanPromptId?, humanSinceNudge,
--    cid?, limits { maxNudgesPerHour, maxConcurrent, slotMs }
-- returns { ok = true, attemptId, try, maxRetries, phase, resumed, unknownBefore }
--      or { ok = false, reason, retryAtMs?, attemptId? }
local HOUR_MS = 3600000
local EARLIER_TURNS = 8

local rec = load()
local function no(reason, retryAtMs, attemptId)
  return reply({ ok = false, reason = reason, retryAtMs = retryAtMs, attemptId = attemptId })
end
if not exists(rec) then return no('session-unknown') end
if isNewer(rec) then return no('newer-record') end
if rec.st == 'closed' then return no('session-closed') end
if number(rec.gen) ~= a.generation then return no('superseded') end
local notice = decoded(rec.nt)
if notice == nil or notice.id ~= a.noticeId then return no('superseded') end
local settings = settingsOf(rec)
if settings == nil then return no('settings-unknown') end
local values = settings.values
local auto = a.kind == 'auto'

local function allStoppedByUser()
  local stopped = decoded(rec.stop) or {}
  for _, task in ipairs(notice.tasks or {}) do
    if not contains(stopped, task.id) then return false end
  end
  return #(notice.tasks or {}) > 0
end

if auto then
  if not values.autoReDrive then return no('auto-off') end
  if rec.us == '1' or allStoppedByUser() then return no('user-stop') end
  local pause = pauseState()
  if pause then return no(pause.by == 'itself' and 'paused-itself' or 'paused') end
elseif not values.surfaceKilledTask then
  return no('surface-off')
end

local changes = {}
local attempt = decoded(rec.att)

local function granted(current, resumed)
  return reply({
    ok = true, attemptId = current.id, try = current.try, maxRetries = values.maxRetries, phase = current.phase,
    resumed = resumed, unknownBefore = current.unknownBefore,
  })
end

-- An attempt that is not settled is gone on with, given back, or waited for; never doubled.
if attempt ~= nil and attempt.phase ~= 'settled' then
  local leased = attempt.leaseUntilMs > now and attempt.owner ~= a.owner
  if leased then return no('attempt-under-way', attempt.leaseUntilMs, attempt.id) end
  local stale = attempt.generation ~= a.generation
  if attempt.phase == 'claimed' and (stale or attempt.noticeId ~= a.noticeId or attempt.kind ~= a.kind) then
    giveBack(rec, attempt, changes)
    settleAttempt(attempt, 'void', 'superseded')
    changes.att = cjson.encode(attempt)
    save(rec, changes)
    trail(rec, 'void', 'superseded', { attempt = attempt.id })
  elseif stale and attempt.noticeId ~= a.noticeId then
    settleAttempt(attempt, 'unknown', 'superseded')
    save(rec, { att = cjson.encode(attempt) })
    trail(rec, 'unconfirmed', 'outcome-unknown', { attempt = attempt.id })
  else
    -- An event raised the generation while the outcome was unknown, and the same hang stands: nothing has answered it, so
    -- the call may well not have arrived. The same key finds out. A counter that a person reset meanwhile counts it again.
    if stale and attempt.kind == 'auto' then changes.tries = math.max(number(rec.tries) or 0, 1) end
    attempt.generation = a.generation
    attempt.owner = a.owner
    attempt.leaseUntilMs = now + a.leaseMs
    changes.att = cjson.encode(attempt)
    changes.st = 'nudging'
    changes.rs = false
    save(rec, changes)
    return granted(attempt, true)
  end
end
local sameHang = attempt ~= nil and attempt.phase == 'settled' and attempt.noticeId == a.noticeId
  and (attempt.outcome == 'accepted' or attempt.outcome == 'unknown')
if sameHang and (auto or rec.st == 'nudged') then
  return no('already-nudged', nil, attempt.id)
end

-- The counter: the record's, the transcript's where the record began without history, nought after a human message
-- whose webhook was lost.
local tries = number(rec.tries) or a.nudgesInTranscript
local refusals = number(rec.ref) or 0
if a.humanSinceNudge and rec.han ~= a.humanPromptId then
  tries = 0
  refusals = 0
end
if auto then
  if values.maxRetries == 0 then return no('retries-zero') end
  if tries >= values.maxRetries then return no('cap-reached') end
  redis.call('ZREMRANGEBYSCORE', K.hour, '-inf', now - HOUR_MS)
  redis.call('ZREMRANGEBYSCORE', K.slots, '-inf', now)
  local hourly, concurrent = a.limits.maxNudgesPerHour, a.limits.maxConcurrent
  if hourly > 0 and redis.call('ZCARD', K.hour) >= hourly then
    local oldest = redis.call('ZRANGE', K.hour, 0, 0, 'WITHSCORES')
    return no('budget-hour', tonumber(oldest[2]) + HOUR_MS)
  end
  if concurrent > 0 and redis.call('ZCARD', K.slots) >= concurrent and not redis.call('ZSCORE', K.slots, a.id) then
    return no('budget-concurrent')
  end
end

-- The turn that an earlier nudge started may still be told of, late: it proves nothing of this one (applyEvent.lua).
if attempt ~= nil and (attempt.outcome == 'accepted' or attempt.outcome == 'unknown') then
  local earlier = decoded(rec.pts) or {}
  earlier[#earlier + 1] = attempt.turnId or ''
  while #earlier > EARLIER_TURNS do table.remove(earlier, 1) end
  changes.pts = cjson.encode(earlier)
end

local manuals = number(rec.man) or 0
local try = auto and tries + 1 or manuals + 1
local seed = table.concat({ rec.srv, a.id, a.noticeId, a.kind, try, auto and refusals or 0 }, '\n')
local fresh = {
  id = redis.sha1hex(seed), kind = a.kind, noticeId = a.noticeId, generation = a.generation, try = try, phase = 'claimed',
  owner = a.owner, leaseUntilMs = now + a.leaseMs, unknownBefore = false, claimedMs = now, cid = a.cid,
}
changes.att = cjson.encode(fresh)
changes.st = 'nudging'
changes.rs = false
changes.nte = rec.et or false
if a.humanPromptId then changes.han = a.humanPromptId end
if auto then
  changes.tries = tries + 1
  changes.ref = refusals
  redis.call('ZADD', K.hour, now, fresh.id)
  redis.call('PEXPIRE', K.hour, HOUR_MS)
  redis.call('ZADD', K.slots, now + a.limits.slotMs, a.id)
  redis.call('PEXPIRE', K.slots, a.limits.slotMs)
else
  changes.man = manuals + 1
end
save(rec, changes)
trail(rec, 'claimed', nil, { attempt = fresh.id, kind = a.kind, try = try, maxRetries = values.maxRetries })
return granted(fresh, false)
