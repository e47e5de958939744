-- A killed-task notice was read. a: id, generation, noticeId, noticeKey, wakeKey?, tasks[]
-- returns { now, generation, seen, wakeSeen?, first, isNew, nudged } or false
local rec = load()
if not exists(rec) or isNewer(rec) or rec.arm ~= '1' or number(rec.gen) ~= a.generation then return reply(false) end

local attempt = decoded(rec.att)
local nudged = attempt ~= nil and attempt.phase == 'settled' and attempt.noticeId == a.noticeId
  and (attempt.outcome == 'accepted' or attempt.outcome == 'unknown')
local notice = decoded(rec.nt)
local isNew = notice == nil or notice.id ~= a.noticeId
local changed = isNew

if isNew then
  notice = { id = a.noticeId, key = a.noticeKey, seen = now, first = now }
elseif notice.key ~= a.noticeKey then
  notice.key = a.noticeKey
  notice.seen = now
  changed = true
end
if notice.wakeKey ~= a.wakeKey then
  notice.wakeKey = a.wakeKey
  notice.wakeSeen = a.wakeKey and now or nil
  changed = true
end
if changed then
  notice.tasks = a.tasks
  local changes = { nt = cjson.encode(notice) }
  if isNew and not nudged then
    changes.st = 'killed'
    changes.rs = false
  end
  save(rec, changes)
  if isNew and not nudged then trail(rec, 'killed-task', nil, { notice = a.noticeId, tasks = a.tasks }) end
end
return reply({
  now = now, generation = a.generation, seen = notice.seen, wakeSeen = notice.wakeSeen, first = notice.first,
  isNew = isNew and not nudged, nudged = nudged,
})
