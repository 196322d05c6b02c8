-- Where a restore or a failover lost the end of an event log (docs/decisions/0029).
alter table event_counters
  -- The cuts of this log, oldest first. Each name starts with the last number that both logs share.
  add column cuts text[] not null default '{}';
