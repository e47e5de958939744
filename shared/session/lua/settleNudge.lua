-- What became of the call. The first settlement stands, except that a proof of acceptance outdoes `unknown`.
-- a: id, attemptId, outcome, detail?, turnId?
-- returns { applied, outcome, pausedItself, nowMs }
local rec = load()
local attempt = decoded(rec.att)
if not exists(rec) or isNewer(rec) or attempt == nil or attempt.id ~= a.attemptId then
  return reply({ applied = false, outcome = 'void', pausedItself = false, nowMs = now })
end
local upgrade = attempt.outcome == 'unknown' and a.outcome == 'accepted'
if attempt.phase == 'settled' and not upgrade then
  return reply({ applied = false, outcome = attempt.outcome, pausedItself = false, nowMs = now })
end

local changes = {}
local outcome = a.outcome
local pausedItself = false
-- Another hang may have come up while the call was under way: that one stands un-nudged.
local notice = decoded(rec.nt)
local isOfNotice = notice == nil or notice.id == attempt.noticeId
local resting = rec.st == 'closed' and 'closed' or restingState(rec)
settleAttempt(attempt, outcome, a.detail)
attempt.turnId = a.turnId

local function refusal(state, reason)
  if not attempt.unknownBefore then giveBack(rec, attempt, changes) end
  changes.ref = (number(rec.ref) or 0) + 1
  changes.st = rec.st == 'closed' and 'closed' or state
  changes.rs = reason
end

if outcome == 'accepted' then
  -- The reply may have been read before the answer of the call came back.
  if rec.st ~= 'closed' and rec.st ~= 'recovered' then changes.st = isOfNotice and 'nudged' or 'killed' changes.rs = false end
  trail(rec, 'nudged', nil, { attempt = attempt.id, turn = a.turnId, kind = attempt.kind, try = attempt.try })
elseif outcome == 'refused' then
  refusal(resting, a.detail)
  trail(rec, 'refused', a.detail, { attempt = attempt.id })
elseif outcome == 'failed' then
  refusal('failed', 'api-refused')
  trail(rec, 'failed', 'api-refused', { attempt = attempt.id, answer = a.detail })
  pausedItself = countFailure(rec)
elseif outcome == 'gone' then
  refusal('closed', 'session-gone')
  changes.st = 'closed'
  changes.arm = 0
  changes.rel = 1
  changes.nt = false
  disarm()
  trail(rec, 'session-closed', 'session-gone', { attempt = attempt.id })
elseif outcome == 'void' then
  giveBack(rec, attempt, changes)
  changes.st = resting
  trail(rec, 'void', a.detail, { attempt = attempt.id })
else
  if rec.st ~= 'closed' and rec.st ~= 'recovered' then
    changes.st = isOfNotice and 'unconfirmed' or 'killed'
    changes.rs = isOfNotice and 'outcome-unknown'
  end
  trail(rec, 'unconfirmed', 'outcome-unknown', { attempt = attempt.id, answer = a.detail })
  pausedItself = countFailure(rec)
end
changes.att = cjson.encode(attempt)
save(rec, changes)
return reply({ applied = true, outcome = outcome, pausedItself = pausedItself, nowMs = now })
