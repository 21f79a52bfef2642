-- One call's part of several counters, all of one tag: all of it or nothing.
--
-- ARGV: the node's name, the length of a window and of a lease in ms, in how many parts what is left is
-- cut; then eight values for each key. The time is this server's, so that clocks of nodes do not matter.
--
-- A window ('w') is a hash that expires with its window: n is what was given out, w is its name. What a
-- node owes is added, what it gives back is taken off if it is of the same window. A window that this
-- server has forgotten although the node was in it is built again from what the node knows.
--
-- Seats ('s') are a hash with a field for each node: how many it holds, and until when.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local node, window, lease, parts = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local function text(number) return string.format('%.0f', number) end

local plans, refused = {}, false
for i, key in ipairs(KEYS) do
  local at = 4 + (i - 1) * 8
  local plan = { limit = tonumber(ARGV[at + 2]), need = tonumber(ARGV[at + 3]) }
  if ARGV[at + 1] == 'w' then
    local owed, give = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
    local mark, count, ends_in = ARGV[at + 6], tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8])
    local row = redis.call('HMGET', key, 'n', 'w')
    local used = tonumber(row[1])
    if used then
      plan.mark, plan.ttl = row[2], math.max(0, redis.call('PTTL', key))
    else
      plan.new = true
      if ends_in > 0 then
        used, plan.mark, plan.ttl = count, mark, ends_in
      else
        used, plan.mark, plan.ttl = 0, text(now), window
      end
    end
    if plan.mark ~= mark then give = 0 end
    plan.told = owed > 0 or give > 0
    plan.used = math.max(0, used + owed - give)
    plan.refused = plan.need > 0 and plan.used + plan.need > plan.limit
  else
    plan.seats, plan.in_use, plan.keep = true, tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
    local held, others = redis.call('HGETALL', key), 0
    for j = 1, #held, 2 do
      local count, ends = string.match(held[j + 1], '^(%d+):(%d+)$')
      if not count or tonumber(ends) <= now then
        redis.call('HDEL', key, held[j])
      elseif held[j] ~= node then
        others = others + tonumber(count)
      end
    end
    plan.room = plan.limit - others
    plan.refused = plan.need > 0 and plan.in_use + plan.need > plan.room
  end
  refused = refused or plan.refused
  plans[i] = plan
end

local out = {}
for i, key in ipairs(KEYS) do
  local plan = plans[i]
  local granted, left, ttl, mark = 0, 0, 0, 0
  if plan.seats then
    local have = plan.in_use
    if not refused then have = have + plan.need end
    if plan.need > 0 and not refused then
      have = have + math.max(0, math.floor((plan.room - have) / parts))
    end
    granted = math.max(have, math.min(plan.keep, plan.room))
    left = math.max(0, plan.room - granted)
    if granted > 0 then
      redis.call('HSET', key, node, text(granted) .. ':' .. text(now + lease))
      redis.call('PEXPIRE', key, lease)
    else
      redis.call('HDEL', key, node)
    end
  else
    if not refused and plan.need > 0 then
      granted = plan.need + math.floor((plan.limit - plan.used - plan.need) / parts)
    end
    local used = plan.used + granted
    if granted > 0 or plan.told or plan.new then
      redis.call('HSET', key, 'n', text(used), 'w', plan.mark)
      if plan.new then redis.call('PEXPIRE', key, plan.ttl) end
    end
    left, ttl, mark = math.max(0, plan.limit - used), plan.ttl, tonumber(plan.mark)
  end
  local base = (i - 1) * 5
  out[base + 1], out[base + 2], out[base + 3], out[base + 4] = granted, left, ttl, mark
  out[base + 5] = plan.refused and 1 or 0
end
return out
