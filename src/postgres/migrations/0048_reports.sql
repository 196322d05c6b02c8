-- Reports of receivers and senders about the workspaces' domains, and the counts in them (docs/decisions/0055-reports.md).
create table reports (
  workspace_id uuid not null,
  domain_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('dmarc', 'tls')),
  via text not null check (via in ('mail', 'https')),
  organization text not null,
  -- The domain for which DMARC passed. Empty: the report is not authenticated.
  reporter text not null,
  report_id text not null,
  begin_at timestamptz not null,
  end_at timestamptz not null,
  -- Wall time, which is shown.
  received_at timestamptz not null,
  total double precision not null,
  failed double precision not null,
  -- Of reporter, report id and period: the same report counts once.
  fingerprint text not null,
  -- Service time.
  stored_at timestamptz not null,
  primary key (workspace_id, domain_id, id)
);
create unique index reports_once on reports (workspace_id, domain_id, fingerprint);
create index reports_old on reports (stored_at);

-- Counts of DMARC reports by source address, day on which the reported period begins, and domain in From.
create table dmarc_counts (
  workspace_id uuid not null,
  domain_id uuid not null,
  -- Empty: the addresses past the limits.
  ip text not null,
  day date not null,
  header_from text not null,
  messages double precision not null,
  aligned double precision not null,
  dkim_aligned double precision not null,
  spf_aligned double precision not null,
  delivered double precision not null,
  quarantined double precision not null,
  rejected double precision not null,
  -- At most 10 values each.
  dkim_domains text[] not null,
  spf_domains text[] not null,
  reporters text[] not null,
  overrides text[] not null,
  stored_at timestamptz not null,
  primary key (workspace_id, domain_id, ip, day, header_from)
) with (fillfactor = 80);
create index dmarc_counts_by_day on dmarc_counts (workspace_id, domain_id, day);
create index dmarc_counts_old on dmarc_counts (stored_at);

create table tls_counts (
  workspace_id uuid not null,
  domain_id uuid not null,
  day date not null,
  authenticated boolean not null,
  succeeded double precision not null,
  failed double precision not null,
  stored_at timestamptz not null,
  primary key (workspace_id, domain_id, day, authenticated)
) with (fillfactor = 80);
create index tls_counts_old on tls_counts (stored_at);

create table tls_failures (
  workspace_id uuid not null,
  domain_id uuid not null,
  day date not null,
  authenticated boolean not null,
  result_type text not null,
  policy_type text not null,
  organization text not null,
  sending_ip text not null,
  receiving_mx text not null,
  sessions double precision not null,
  stored_at timestamptz not null,
  primary key (workspace_id, domain_id, day, authenticated, result_type, policy_type, organization, sending_ip, receiving_mx)
) with (fillfactor = 80);
create index tls_failures_old on tls_failures (stored_at);

-- What a reporter, or a domain ('*'), has used of its limits on one day of service time.
create table report_limits (
  workspace_id uuid not null,
  domain_id uuid not null,
  day date not null,
  reporter text not null,
  reports integer not null,
  new_rows integer not null,
  events integer not null,
  primary key (workspace_id, domain_id, day, reporter)
) with (fillfactor = 70);
create index report_limits_old on report_limits (day);
