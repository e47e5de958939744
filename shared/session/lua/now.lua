-- The clock by which every script counts: on a cluster a bare TIME would be answered by any node.
-- returns epoch milliseconds
return reply(now)
