-- Where the log was cut: see src/events/cuts.ts.
alter table event_counters
  -- The cuts of this log, oldest first. Each name starts with the last number that both logs share.
  add column cuts text[] not null default '{}';
