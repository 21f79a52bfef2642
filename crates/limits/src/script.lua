-- One call's part of several counters, all of one tag: all of it or nothing.
--
-- ARGV: the node's name, the length of a window and of a lease in ms, in how many slices what is left is
-- cut, the parts of a window; then the values of each key, which begin with a word. The time is this
-- server's, so that clocks of nodes do not matter.
--
-- A window ('w') is a hash: a field for each part of the window, named by its number, holds what was given
-- out in it; e is the counter's generation. A part counts until it has ended one window ago, so that no more
-- than the limit is given out in any window, wherever it begins. What a node owes is added to the part that
-- is open now; what it returns is taken off the part that it was drawn in. A node that has not reported to
-- this generation tells what it has taken: this server has lost its data.
--
-- Concurrency ('s') is a hash with a field for each node: how many it holds, and until when.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local node, window, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local slices, parts = tonumber(ARGV[4]), tonumber(ARGV[5])
local length = math.max(1, math.floor(window / parts))
local open = math.floor(now / length)
-- A part that ended one window ago counts no more.
local oldest = open - math.ceil(window / length)
local function text(number) return string.format('%.0f', number) end

local at = 5
local function value()
  at = at + 1
  return ARGV[at]
end

local function read_window(key, plan)
  local owed, generation, known, pairs_sent = tonumber(value()), value(), tonumber(value()), tonumber(value())
  plan.counts, plan.marks, plan.changed = {}, {}, {}
  local row = redis.call('HGETALL', key)
  for j = 1, #row, 2 do
    local mark = tonumber(row[j])
    if row[j] == 'e' then
      plan.generation = row[j + 1]
    elseif mark >= oldest then
      plan.counts[mark] = tonumber(row[j + 1])
      plan.marks[#plan.marks + 1] = mark
    else
      redis.call('HDEL', key, row[j])
    end
  end
  local is_known = plan.generation == generation
  if not plan.generation then
    plan.generation = text(now)
    plan.is_new = true
  end
  if not plan.counts[open] then
    plan.counts[open] = 0
    plan.marks[#plan.marks + 1] = open
  end
  table.sort(plan.marks)
  if not is_known then owed = owed + known end
  if owed > 0 then
    plan.counts[open] = plan.counts[open] + owed
    plan.changed[open] = true
  end
  for _ = 1, pairs_sent do
    local mark, amount = tonumber(value()), tonumber(value())
    if is_known and plan.counts[mark] then
      plan.counts[mark] = math.max(0, plan.counts[mark] - amount)
      plan.changed[mark] = true
    end
  end
  plan.used = 0
  for _, mark in ipairs(plan.marks) do plan.used = plan.used + plan.counts[mark] end
  plan.refused = plan.need > 0 and plan.used + plan.need > plan.limit
end

-- When so much has left the window that what is needed fits; for a counter that refused nothing, when the
-- first of it has.
local function frees_in(plan)
  local left = plan.used
  for _, mark in ipairs(plan.marks) do
    local count = plan.counts[mark]
    left = left - count
    if count > 0 and (not plan.refused or left + plan.need <= plan.limit) then
      return math.max(0, (mark + 1) * length + window - now)
    end
  end
  return 0
end

local plans, refused = {}, false
for i, key in ipairs(KEYS) do
  local kind = value()
  local plan = { limit = tonumber(value()), need = tonumber(value()) }
  if kind == 'w' then
    read_window(key, plan)
  else
    plan.seats, plan.in_use, plan.keep = true, tonumber(value()), tonumber(value())
    local held, others = redis.call('HGETALL', key), 0
    for j = 1, #held, 2 do
      local count, ends = string.match(held[j + 1], '^(%d+):(%d+)$')
      if not count or tonumber(ends) <= now then
        redis.call('HDEL', key, held[j])
      elseif held[j] ~= node then
        others = others + tonumber(count)
      end
    end
    plan.free = plan.limit - others
    plan.refused = plan.need > 0 and plan.in_use + plan.need > plan.free
  end
  refused = refused or plan.refused
  plans[i] = plan
end

local out = {}
for i, key in ipairs(KEYS) do
  local plan = plans[i]
  local granted, left, ends_in, mark, frees, generation = 0, 0, 0, 0, 0, 0
  if plan.seats then
    local have = plan.in_use
    if not refused then have = have + plan.need end
    if plan.need > 0 and not refused then
      have = have + math.max(0, math.floor((plan.free - have) / slices))
    end
    granted = math.max(have, math.min(plan.keep, plan.free))
    left = math.max(0, plan.free - granted)
    if granted > 0 then
      redis.call('HSET', key, node, text(granted) .. ':' .. text(now + lease))
      redis.call('PEXPIRE', key, lease)
    else
      redis.call('HDEL', key, node)
    end
  else
    if not refused and plan.need > 0 then
      granted = plan.need + math.floor((plan.limit - plan.used - plan.need) / slices)
      plan.counts[open] = plan.counts[open] + granted
      plan.changed[open] = true
    end
    plan.used = plan.used + granted
    if next(plan.changed) then
      if plan.is_new then redis.call('HSET', key, 'e', plan.generation) end
      for changed in pairs(plan.changed) do
        redis.call('HSET', key, text(changed), text(plan.counts[changed]))
      end
      redis.call('PEXPIRE', key, window + 2 * length)
    end
    left, ends_in, mark = math.max(0, plan.limit - plan.used), (open + 1) * length - now, open
    frees, generation = frees_in(plan), tonumber(plan.generation)
  end
  local base = (i - 1) * 7
  out[base + 1], out[base + 2], out[base + 3], out[base + 4] = granted, left, ends_in, mark
  out[base + 5], out[base + 6], out[base + 7] = plan.refused and 1 or 0, frees, generation
end
return out
