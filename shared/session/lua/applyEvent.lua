-- A lifecycle event: order, ownership, record, generation and the delivery's mark, in one step.
-- a: id, server, source, rank, type, ts, turnId?, project, known[], cause?, outcome?, taskId?, closeReason?, tasks?,
--    arm? { path, armed, auto, reason }, markTtl, firstStepMs
-- returns { outcome, owner, armed, reason, generation, step? { dueMs, nowMs } }

local SOURCE_RANK = { discovery = 1, hook = 2, webhook = 3 }
local REPEAT_WINDOW_MS = 60000
local OTHER_STARTS = 8

local generation

local function firstStep(dueMs) return { dueMs = dueMs, nowMs = now } end

-- The mark holds owner, armed, reason, generation and the first step's moment: there is one for each delivery of ten minutes.
local known = redis.call('GET', K.mark)
if known then
  local mark = cjson.decode(known)
  generation = mark[4]
  return reply({
    outcome = 'duplicate', owner = mark[1], armed = mark[2], reason = mark[3], generation = generation,
    step = mark[5] and firstStep(mark[5]) or nil,
  })
end

local rec = load()
if isNewer(rec) then return reply({ outcome = 'newer-record' }) end
generation = number(rec.gen) or 0

local function owns()
  if not exists(rec) or rec.rel == '1' then return true end
  if not contains(a.known, rec.srv) then return true end
  if rec.srv == a.server then return SOURCE_RANK[a.source] >= SOURCE_RANK[rec.src] end
  return SOURCE_RANK[a.source] > SOURCE_RANK[rec.src]
end
if not owns() then
  return reply({ outcome = 'other-owner', owner = rec.srv, armed = rec.arm == '1', reason = 'recorded', generation = generation })
end

local function answer(outcome, reason, step)
  local result = { outcome = outcome, owner = rec.srv or a.server, armed = rec.arm == '1', reason = reason, generation = generation, step = step }
  local mark = { result.owner, result.armed, reason, generation, step and step.dueMs or nil }
  redis.call('SET', K.mark, cjson.encode(mark), 'PX', a.markTtl)
  return reply(result)
end

-- Order on the chat server's own clock; on equal stamps: closed, human, ended of the same turn, started, ended.
local function precedence(kind, sameTurn)
  if kind == 'session.closed' then return 5 end
  if kind == 'message.human' then return 4 end
  if kind == 'turn.ended' then return sameTurn and 3 or 1 end
  return 2
end
local function isLater()
  local last = number(rec.ev)
  if last == nil or a.ts ~= last then return last == nil or a.ts > last end
  local sameTurn = a.turnId ~= nil and a.turnId == rec.ltid
  return precedence(a.type, sameTurn) > precedence(rec.lt, sameTurn) or (a.type == rec.lt and a.turnId ~= rec.ltid)
end
local function isRepeat()
  if rec.lt ~= a.type or a.turnId ~= rec.ltid then return false end
  if a.ts == number(rec.ev) then return true end
  return a.type == 'turn.ended' and a.turnId ~= nil and math.abs(a.ts - (number(rec.ev) or 0)) <= REPEAT_WINDOW_MS
end

local changes = { srv = a.server, src = a.source, rel = false, prj = a.project }

-- Whether the event is of a turn that the attempt under way started. Webhooks come late: it may be the turn of a nudge before
-- (found by the chaos run). In doubt it is not: then the same key finds out.
local function isOwnTurn()
  if a.cause ~= 'recovery' then return false end
  local earlier = decoded(rec.pts) or {}
  if #earlier == 0 then return true end
  return a.turnId ~= nil and not contains(earlier, a.turnId) and not contains(earlier, '')
end

-- An attempt that has not left is void; one whose call may have left is proven sent by the turn that it started.
local function supersede()
  local attempt = decoded(rec.att)
  if attempt == nil or attempt.phase == 'settled' then return end
  if attempt.phase == 'claimed' then
    giveBack(rec, attempt, changes)
    settleAttempt(attempt, 'void', a.type)
    trail(rec, 'void', 'superseded', { attempt = attempt.id })
  elseif isOwnTurn() then
    settleAttempt(attempt, 'accepted', 'turn seen')
    attempt.turnId = a.turnId
    local notice = decoded(rec.nt)
    changes.st = (notice == nil or notice.id == attempt.noticeId) and 'nudged' or 'killed'
    trail(rec, 'nudged', nil, { attempt = attempt.id, provenBy = a.type, cid = attempt.cid })
  else
    return
  end
  changes.att = cjson.encode(attempt)
  if attempt.outcome == 'void' then changes.st = restingState(rec) end
end

local function applied(kind, reason)
  generation = generation + 1
  changes.gen = generation
  changes.ev = a.ts
  changes.lt = a.type
  changes.ltid = a.turnId or false
  supersede()
  return kind, reason
end

local function resetCounter()
  changes.tries = 0
  changes.ref = 0
  changes.us = false
end

if a.type == 'task.stopped' then
  local stopped = extended(rec.stop, { a.taskId })
  if stopped then changes.stop = stopped end
  if not exists(rec) then changes.st = 'idle' changes.gen = 0 end
  save(rec, changes)
  trail(rec, 'task-stopped', nil, { task = a.taskId })
  return answer('applied', 'recorded')
end

local always = a.type == 'session.closed' and a.closeReason == 'deleted'
if exists(rec) and not always then
  if isRepeat() then
    local step = nil
    if a.type == 'turn.ended' and rec.arm == '1' then step = firstStep((number(rec.at) or now) + a.firstStepMs) end
    return answer('duplicate', 'duplicate-event', step)
  end
  if not isLater() then
    local behindNudge = number(rec.nte)
    if a.type == 'message.human' and behindNudge and a.ts > behindNudge then
      resetCounter()
      save(rec, changes)
      trail(rec, 'human-message', 'stale-event')
    end
    return answer('stale', 'stale-event')
  end
end

if a.type == 'message.human' then
  applied()
  resetCounter()
  changes.nt = false
  rec.nt = nil
  if not exists(rec) or rec.st ~= 'closed' then changes.st = restingState(rec) end
  changes.rs = false
  save(rec, changes)
  expectEnd(rec)
  trail(rec, 'human-message')
  return answer('applied', 'recorded')
end

if a.type == 'turn.started' then
  applied()
  changes.run = 1
  if a.cause ~= 'human' then
    local starts = decoded(rec.os) or {}
    starts[#starts + 1] = a.ts
    while #starts > OTHER_STARTS do table.remove(starts, 1) end
    changes.os = cjson.encode(starts)
  end
  if not exists(rec) then changes.st = changes.st or 'idle' end
  save(rec, changes)
  expectEnd(rec)
  trail(rec, 'turn-started', nil, { cause = a.cause })
  return answer('applied', 'recorded')
end

if a.type == 'session.closed' then
  applied()
  changes.ev = math.max(a.ts, number(rec.ev) or 0)
  changes.arm = 0
  changes.run = 0
  changes.rel = 1
  changes.nt = false
  changes.st = a.closeReason == 'crashed' and 'failed' or 'closed'
  changes.rs = a.closeReason == 'crashed' and 'agent-crashed' or 'session-closed'
  if a.closeReason == 'deleted' then changes.tries = false changes.ref = false changes.ans = false end
  freeSlot()
  disarm()
  endExpected()
  save(rec, changes)
  trail(rec, 'session-closed', a.closeReason)
  return answer('applied', 'recorded')
end

-- turn.ended
applied()
freeSlot()
if a.outcome == 'interrupted' then changes.us = 1 end
changes.run = 0
changes.et = a.ts
changes.path = a.arm.path
changes.at = now
changes.arm = a.arm.armed and 1 or 0
changes.auto = (a.arm.auto and not (changes.us or rec.us)) and 1 or 0
changes.ar = a.arm.reason
changes.bg = a.tasks or 0
rec.arm = a.arm.armed and '1' or '0'
-- The nudged turn's own end does not take the word `recovered` away again; the next turn's does.
local keepsRecovered = rec.st == 'recovered' and a.cause == 'recovery'
if not rec.nt and not keepsRecovered then
  changes.st = restingState(rec)
  changes.rs = false
end
if a.arm.armed then arm(now + a.firstStepMs) else disarm() end
endExpected()
save(rec, changes)
trail(rec, 'turn-ended', a.arm.reason, { outcome = a.outcome, cause = a.cause, generation = generation })
return answer('applied', a.arm.reason, a.arm.armed and firstStep(now + a.firstStepMs) or nil)
