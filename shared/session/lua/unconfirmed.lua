-- A confirm came due and no entry has followed the accepted nudge. a: id, attemptId
-- returns true | false
local rec = load()
local attempt = decoded(rec.att)
if isNewer(rec) or attempt == nil or attempt.id ~= a.attemptId or attempt.outcome ~= 'accepted' or rec.st ~= 'nudged' then
  return reply(false)
end
save(rec, { st = 'unconfirmed', rs = 'no-effect' })
trail(rec, 'unconfirmed', 'no-effect', { attempt = attempt.id })
countFailure(rec)
return reply(true)
