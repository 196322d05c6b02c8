-- Bounces and complaints that are about no recipient (docs/decisions/0032), one row per email, kind and reason. Times are service time.
create table unattributed_reports (
  workspace_id uuid not null,
  email_id uuid not null,
  kind text not null check (kind in ('bounce', 'complaint')),
  reason text not null check (reason in ('shared_path', 'expired', 'no_token', 'invalid_token')),
  -- Of the newest report.
  id uuid not null,
  -- What the newest report claims.
  named_recipient text not null,
  reports bigint not null default 1,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (workspace_id, email_id, kind, reason)
);
create index unattributed_newest on unattributed_reports (workspace_id, id);
create index unattributed_old on unattributed_reports (last_at);
