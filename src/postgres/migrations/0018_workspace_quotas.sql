-- Quotas, suspension and abuse brakes of workspaces (docs/decisions/0033-quotas.md).
alter table workspaces
  -- Created by a person who came by open sign-up: such a workspace has the quotas for new ones, and the abuse brake suspends it.
  add column from_sign_up boolean not null default false,
  -- Limits that the operator set, by kind of quota; null is unlimited. Missing kinds have the limit of the settings.
  add column quota jsonb not null default '{}',
  -- Wall time. Null: the workspace may send.
  add column suspended_at timestamptz,
  add column suspended_reason text;

-- What each workspace uses. Written by the statements that store mail, in their transaction. A workspace without a row has used nothing.
create table workspace_usage (
  workspace_id uuid not null,
  -- What a workspace uses is the sum of its rows. Statements of a workspace without limits use different slots, so that none waits for the
  -- commit of another. Those of a workspace with limits use slot 0.
  slot smallint not null default 0,
  -- Start of the hour and of the day in which recipients are counted, by service time, and what this row may reach.
  hour timestamptz not null default 'epoch',
  hour_recipients bigint not null default 0,
  hour_limit bigint,
  day timestamptz not null default 'epoch',
  day_recipients bigint not null default 0,
  day_limit bigint,
  inbound_hour timestamptz not null default 'epoch',
  inbound_messages bigint not null default 0,
  stored_bytes bigint not null default 0,
  primary key (workspace_id, slot),
  -- Two statements that run at the same time do not see each other's count: the second one fails here and is repeated.
  constraint quota_hour check (hour_recipients <= hour_limit),
  constraint quota_day check (day_recipients <= day_limit)
) with (fillfactor = 50);

-- The stored bytes by the day of their partition, subtracted when the partition is dropped.
create table content_sizes (
  workspace_id uuid not null,
  -- 'emails' or 'inbound'. Without a check, which each statement that stores mail would have to compile.
  content text not null,
  day date not null,
  -- As in workspace_usage.
  slot smallint not null default 0,
  bytes bigint not null,
  primary key (workspace_id, content, day, slot)
) with (fillfactor = 70);

-- Thresholds that were reported, so that each is reported once per window.
create table quota_notices (
  workspace_id uuid not null,
  kind text not null,
  percent smallint not null,
  -- Start of the window, by service time. For a quota without a window, the time of the notice.
  window_start timestamptz not null,
  -- A quota without a window was below the threshold since the notice.
  was_below boolean not null default false,
  primary key (workspace_id, kind, percent)
);

-- Mail to the owners of a workspace, written with the event that it reports and deleted when it is in the queue.
create table owner_mails (
  id uuid primary key,
  workspace_id uuid not null,
  subject text not null,
  body text not null,
  created_at timestamptz not null default now()
);

-- Every suspension. Service time, because the expiry of the mail that waited is extended by it; began_at is wall time, as in emails.created_at.
create table workspace_suspensions (
  workspace_id uuid not null,
  id uuid not null,
  reason text not null,
  automatic boolean not null,
  began_at timestamptz not null,
  service_from timestamptz not null,
  service_to timestamptz,
  primary key (workspace_id, id)
);

-- The outcomes of the last recipients of each workspace in steps, oldest first: [recipients, bounces, complaints].
create table sending_records (
  workspace_id uuid primary key,
  events_to bigint not null default 0,
  steps jsonb not null default '[]',
  -- The figures of the current warning; null: the workspace is within the limits.
  warning jsonb,
  -- False until the workspace was warned or suspended because of them.
  handled boolean not null default true,
  -- Service time of the last warning.
  warned_at timestamptz,
  -- Service time of the last fold, so that workspaces take turns.
  folded_at timestamptz not null default 'epoch'
) with (fillfactor = 50);

-- Open event streams by node, renewed every few seconds.
create table stream_counts (
  node uuid primary key,
  counts jsonb not null,
  seen_at timestamptz not null
);
