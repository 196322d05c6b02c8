-- Doubt is precise: a recipient is in doubt only when its final dot may have reached the receiver.
alter table recipients
  -- Attempts that ended in doubt, which have a longer retry schedule.
  add column doubts smallint not null default 0;

-- Dead workers whose dot journal was read: their leases are not in doubt, except for the recipients that the journal named.
create table read_journals (
  worker_id bigint primary key,
  read_at timestamptz not null default now()
);
