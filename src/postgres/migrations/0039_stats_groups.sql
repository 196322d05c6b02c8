-- Mail counted by sending domain, key and chosen metadata keys, and alerts about rates (docs/decisions/0046-insight.md).
create table stats_groups (
  workspace_id uuid not null,
  -- 'domain', 'key', 'metadata:' with the metadata key, or 'live' for all mail that is not of test keys.
  dimension text not null,
  hour timestamptz not null,
  -- '=' with the value, or 'other' for the values past the hour's largest.
  value text not null,
  emails integer not null,
  accepted integer not null,
  delivered integer not null,
  sent integer not null,
  bounced integer not null,
  delayed integer not null,
  complained integer not null,
  suppressed integer not null,
  failed integer not null,
  canceled integer not null,
  primary key (workspace_id, dimension, hour, value)
) with (fillfactor = 70);
create index stats_groups_old on stats_groups (hour);

-- A workspace without a row has the defaults.
create table stats_settings (
  workspace_id uuid primary key,
  metadata_keys text[] not null default '{}',
  -- {disabled, rate, least} of src/stats/rules/alerts.ts; a missing field has the default.
  bounce_alert jsonb not null default '{}',
  complaint_alert jsonb not null default '{}'
);

-- The last alert about each figure, written with the event and the mail that report it.
create table rate_alerts (
  workspace_id uuid not null,
  figure text not null,
  rate double precision not null,
  threshold double precision not null,
  count integer not null,
  recipients integer not null,
  message text not null,
  raised_at timestamptz not null,
  is_raised boolean not null,
  -- When it was reported, by service time: at most once a day.
  reported_at timestamptz not null,
  primary key (workspace_id, figure)
);

-- How far the rates of each workspace were compared with its thresholds: by event number, and when by service time.
create table rate_alert_marks (
  workspace_id uuid primary key,
  events_to bigint not null,
  judged_at timestamptz not null
) with (fillfactor = 70);
