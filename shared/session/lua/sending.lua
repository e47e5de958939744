-- Directly before the call: lease, generation, opt-in, user stop and pause once more. a: id, attemptId, owner, leaseMs
-- returns { ok = true } or { ok = false, reason }
local rec = load()
local attempt = decoded(rec.att)
local function no(reason) return reply({ ok = false, reason = reason }) end
if not exists(rec) then return no('session-unknown') end
if isNewer(rec) then return no('newer-record') end
if attempt == nil or attempt.id ~= a.attemptId then return no('superseded') end
if attempt.phase == 'settled' then return no('already-nudged') end
if attempt.owner ~= a.owner then return no('attempt-under-way') end

-- What was never sent is given back; what may have been sent is kept for its own settlement.
local function held(reason)
  local changes = {}
  if attempt.phase == 'claimed' then
    giveBack(rec, attempt, changes)
    settleAttempt(attempt, 'void', reason)
    trail(rec, 'void', reason, { attempt = attempt.id })
  else
    attempt.leaseUntilMs = 0
    attempt.owner = nil
  end
  changes.att = cjson.encode(attempt)
  changes.st = rec.st == 'closed' and 'closed' or restingState(rec)
  save(rec, changes)
  return no(reason)
end

if rec.st == 'closed' then return held('session-closed') end
if number(rec.gen) ~= attempt.generation then return held('superseded') end
if attempt.kind == 'auto' then
  local settings = settingsOf(rec)
  if settings == nil then return held('settings-unknown') end
  if not settings.values.autoReDrive then return held('auto-off') end
  local pause = pauseState()
  if pause then return held(pause.by == 'itself' and 'paused-itself' or 'paused') end
  local stopped, notice = decoded(rec.stop) or {}, decoded(rec.nt)
  local left = 0
  for _, task in ipairs(notice and notice.tasks or {}) do
    if not contains(stopped, task.id) then left = left + 1 end
  end
  if rec.us == '1' or left == 0 then return held('user-stop') end
end

local first = attempt.phase == 'claimed'
attempt.phase = 'sending'
attempt.leaseUntilMs = now + a.leaseMs
attempt.sentMs = attempt.sentMs or now
save(rec, { att = cjson.encode(attempt), st = 'nudging' })
if first then trail(rec, 'sending', nil, { attempt = attempt.id }) end
return reply({ ok = true })
