-- A call failed in a way that may be repeated with the same key: the attempt stays, anybody may go on with it.
-- a: id, attemptId, owner, unknown, detail
-- returns true | false
local rec = load()
local attempt = decoded(rec.att)
if isNewer(rec) or attempt == nil or attempt.id ~= a.attemptId or attempt.phase == 'settled' or attempt.owner ~= a.owner then
  return reply(false)
end
attempt.leaseUntilMs = 0
attempt.owner = nil
attempt.detail = a.detail
attempt.unknownBefore = attempt.unknownBefore or a.unknown
save(rec, { att = cjson.encode(attempt) })
return reply(true)
