-- The host slept: the standing notice counts from now, once. a: id, noticeId
-- returns true | false
local rec = load()
local notice = decoded(rec.nt)
if isNewer(rec) or notice == nil or notice.id ~= a.noticeId or notice.restarted then return reply(false) end
notice.restarted = true
notice.seen = now
if notice.wakeKey then notice.wakeSeen = now end
save(rec, { nt = cjson.encode(notice) })
trail(rec, 'deferred', 'host-slept', { notice = a.noticeId })
return reply(true)
