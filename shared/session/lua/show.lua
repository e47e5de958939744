-- A state that only shows. a: id, generation, state, reason, kind, detail?
-- returns true where it changed
local rec = load()
if not exists(rec) or isNewer(rec) or rec.st == 'closed' or number(rec.gen) ~= a.generation then return reply(false) end
if rec.st == a.state and rec.rs == a.reason then return reply(false) end
save(rec, { st = a.state, rs = a.reason })
trail(rec, a.kind, a.reason, a.detail)
return reply(true)
