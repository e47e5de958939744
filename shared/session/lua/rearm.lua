-- A watch in the place of one whose turn end is lost: armed from what the transcript shows.
-- a: id, generation, path, firstStepMs
-- returns { generation, auto, dueMs, nowMs } or false, where anything has happened to the session meanwhile
local rec = load()
if not exists(rec) or isNewer(rec) or number(rec.gen) ~= a.generation then return reply(false) end
if rec.arm == '1' or rec.rel == '1' or rec.st == 'closed' or rec.st == 'failed' then return reply(false) end

local generation = a.generation + 1
rec.arm = '1'
-- Batch turns are never nudged, and only a turn end says that a chat's are none: without any, it is shown only.
local auto = rec.ar ~= nil and rec.us ~= '1'
local changes = {
  gen = generation, path = a.path, arm = 1, at = now, ar = 'turn-end-lost', run = 0, rs = false,
  auto = auto and 1 or 0,
}
if not rec.nt then changes.st = restingState(rec) end
arm(now + a.firstStepMs)
endExpected()
save(rec, changes)
trail(rec, 'turn-ended', 'turn-end-lost', { generation = generation })
return reply({ generation = generation, auto = auto, dueMs = now + a.firstStepMs, nowMs = now })
