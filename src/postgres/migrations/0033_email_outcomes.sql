-- How the recipients of an email ended, counted by the statements that settle them (docs/decisions/0044-outcomes.md).
alter table emails
  add column delayed smallint not null default 0,
  add column delivered smallint not null default 0,
  add column sent smallint not null default 0,
  add column bounced smallint not null default 0,
  add column failed smallint not null default 0,
  add column suppressed smallint not null default 0,
  add column canceled smallint not null default 0,
  add column complained smallint not null default 0,
  add column replied boolean not null default false,
  -- Equal to updated_at while the counts are right. Null or earlier: a program that does not know them has written the row, and a
  -- backfill counts it again.
  add column counted_at timestamptz;

-- The emails that a person looks for: open ones and those with a problem. An email that was delivered or sent to all recipients has no row.
-- Not an index of emails, because then settling could not update its row in place.
create table email_outcomes (
  workspace_id uuid not null,
  outcome text not null check (outcome in ('complained', 'bounced', 'failed', 'suppressed', 'delayed', 'queued', 'canceled')),
  email_id uuid not null,
  primary key (workspace_id, outcome, email_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);
