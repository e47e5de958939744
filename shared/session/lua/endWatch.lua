-- An operator, or age, ends one session's watch: pending work is void, the session is free for another owner.
-- a: id, reason
-- returns true | false (unknown session)
local rec = load()
if not exists(rec) or isNewer(rec) then return reply(false) end
if rec.arm == '0' and rec.rel == '1' and rec.rs == a.reason then return reply(true) end
local changes = { arm = 0, rel = 1, nt = false, rs = a.reason, gen = (number(rec.gen) or 0) + 1 }
rec.nt = nil
rec.arm = '0'
local attempt = decoded(rec.att)
if attempt ~= nil and attempt.phase == 'claimed' then
  giveBack(rec, attempt, changes)
  settleAttempt(attempt, 'void', a.reason)
  changes.att = cjson.encode(attempt)
end
if rec.st ~= 'closed' then changes.st = 'idle' end
disarm()
save(rec, changes)
trail(rec, 'watch-ended', a.reason)
return reply(true)
