-- The notice is answered or gone. a: id, generation, answered[], replied, nudgeSeen, verdict?
-- returns 'recovered' | 'cleared' | 'nothing'
local rec = load()
if not exists(rec) or isNewer(rec) or number(rec.gen) ~= a.generation or rec.st == 'closed' then return reply('nothing') end

local changes = {}
local answered = extended(rec.ans, a.answered)
if answered then changes.ans = answered end

local attempt = decoded(rec.att)
local notice = decoded(rec.nt)
-- A reply is the nudge's work only where the nudge is known to have arrived: a wake may have answered while its call was
-- still under way, and that call may yet be refused.
local arrived = attempt ~= nil and (attempt.outcome == 'accepted' or a.nudgeSeen and (attempt.phase == 'sending' or attempt.outcome == 'unknown'))
local awaited = arrived and notice ~= nil and attempt.noticeId == notice.id

local result = 'nothing'
if a.replied and awaited then
  result = 'recovered'
  if attempt.outcome ~= 'accepted' then
    settleAttempt(attempt, 'accepted', 'reply seen')
    changes.att = cjson.encode(attempt)
  end
  changes.nt = false
  changes.st = 'recovered'
  changes.rs = false
  redis.call('DEL', K.streak)
elseif notice ~= nil or rec.st == 'stuck' or rec.st == 'error' or rec.st == 'exhausted' or rec.st == 'stood-down' or rec.st == 'transcript-missing' then
  result = 'cleared'
  if attempt ~= nil and attempt.phase == 'claimed' then
    giveBack(rec, attempt, changes)
    settleAttempt(attempt, 'void', 'cleared')
    changes.att = cjson.encode(attempt)
  end
  changes.nt = false
  rec.nt = nil
  changes.st = restingState(rec)
  changes.rs = false
end

if result == 'nothing' and not answered then return reply(result) end
save(rec, changes)
if result == 'recovered' then
  trail(rec, 'recovered', nil, { attempt = attempt.id, afterMs = now - (attempt.sentMs or now), kind = attempt.kind })
elseif result == 'cleared' then
  trail(rec, 'cleared', a.verdict or 'verdict-clear')
end
return reply(result)
