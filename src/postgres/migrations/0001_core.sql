-- The whole house in one first step. Every table of a customer's data is keyed by workspace_id first, so that
-- the store can be spread by workspace later. Ids are UUIDv7 made by the program: they carry their time, and the
-- tables that grow are partitioned by it.

create table settings (
  name text primary key,
  value text not null,
  updated_at timestamptz not null default now()
);

-- One row per running program; a lease whose worker has gone silent is free again.
create table workers (
  id integer primary key generated always as identity,
  host text not null,
  pid integer not null,
  roles text[] not null,
  version text not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

create table workspaces (
  id uuid primary key,
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- People who sign in to the dashboard. These three tables are better-auth's, under names of ours (src/people/auth.ts); the columns
-- that only other ways of signing in would fill are there because the library reads them.
create table people (
  id uuid primary key,
  -- Lower-case.
  email text not null unique,
  email_verified boolean not null default false,
  name text not null,
  image text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table people_accounts (
  id uuid primary key,
  person_id uuid not null references people (id) on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (provider_id, account_id)
);
create index people_accounts_by_person on people_accounts (person_id);

-- The token alone opens nothing: the cookie carries a signature under POSTHORN_SECRET beside it.
create table people_sessions (
  id uuid primary key,
  person_id uuid not null references people (id) on delete cascade,
  token text not null unique,
  ip_address text,
  user_agent text,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index people_sessions_by_person on people_sessions (person_id);
create index people_sessions_expired on people_sessions (expires_at);

-- Links that were sent to people, each good for one use. Only a hash of the token is kept.
create table people_links (
  token_hash text primary key,
  kind text not null check (kind in ('sign_up', 'reset')),
  email text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index people_links_by_email on people_links (email, kind);
create index people_links_expired on people_links (expires_at);

-- Who may do what in a workspace; a row without a person is an open invitation.
create table members (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  person_id uuid references people (id),
  email text not null,
  role text not null check (role in ('owner', 'developer', 'viewer')),
  invite_hash text unique,
  invite_expires_at timestamptz,
  invited_at timestamptz,
  joined_at timestamptz,
  primary key (workspace_id, id),
  unique (workspace_id, email),
  check ((person_id is null) = (joined_at is null)),
  check ((person_id is null) = (invite_hash is not null)),
  check ((invite_hash is null) = (invite_expires_at is null))
);
create unique index members_by_person on members (person_id, workspace_id) where person_id is not null;

-- The numbers of the event log: dense, in commit order. No foreign key points here: this row is updated by every
-- settling statement, and a key check would lock it. Half-filled pages keep the updates in place (HOT).
create table event_counters (
  workspace_id uuid primary key,
  last bigint not null default 0,
  oldest bigint not null default 1,
  check (oldest between 1 and last + 1)
) with (fillfactor = 50);

create table keys (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  prefix text not null unique,
  secret_hash text not null,
  permission text not null check (permission in ('full', 'send', 'read')),
  domain text,
  test boolean not null default false,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  check (domain is null or permission = 'send')
);
create index keys_by_workspace on keys (workspace_id, id);

create table domains (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  domain text not null,
  token text not null unique,
  mail_from_label text not null,
  region text not null,
  status text not null default 'pending' check (status in ('pending', 'verifying', 'ready', 'degraded', 'failed')),
  records jsonb not null default '[]',
  note text not null default '',
  next_action text not null default 'CONFIGURE_DNS' check (next_action in ('CONFIGURE_DNS', 'WAIT', 'NONE')),
  can_send boolean not null default false,
  -- What the delivery needs to know of the last check: which DKIM keys receivers can find, and whether bounce.D is ours.
  signing_slots smallint[] not null default '{}',
  mail_from_ready boolean not null default false,
  can_receive boolean not null default false,
  ready_at timestamptz,
  dkim_seen_at timestamptz,
  incomplete_since timestamptz,
  -- When a check began to find a DKIM record of this very registration: of several with one name, the last one receives.
  control_proved_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_checked_at timestamptz,
  last_verify_at timestamptz,
  next_check_at timestamptz not null default now(),
  checks integer not null default 0,
  check_lease uuid,
  check_lease_until timestamptz,
  deleted_at timestamptz,
  primary key (workspace_id, id)
);
create unique index domains_by_name on domains (workspace_id, domain) where deleted_at is null;
create index domains_proved on domains (domain, control_proved_at desc) where deleted_at is null and control_proved_at is not null;
create index domains_due on domains (next_check_at) where deleted_at is null;

create table dkim_keys (
  workspace_id uuid not null,
  id uuid not null,
  domain_id uuid not null,
  slot smallint not null check (slot in (1, 2)),
  label text not null,
  public_key text not null,
  private_key_sealed text not null,
  created_at timestamptz not null default now(),
  active_from timestamptz not null default now(),
  last_signed_at timestamptz,
  retired_at timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, domain_id) references domains (workspace_id, id)
);
create unique index dkim_keys_by_label on dkim_keys (label) where retired_at is null;
create index dkim_keys_served on dkim_keys (label, created_at desc);
create index dkim_keys_by_domain on dkim_keys (workspace_id, domain_id, slot);

-- Records that capture mode serves for reserved names, so that the whole flow works without the internet.
create table published_zones (
  origin text primary key,
  workspace_id uuid not null,
  domain_id uuid not null,
  records jsonb not null,
  published_at timestamptz not null default now()
);

create table emails (
  workspace_id uuid not null,
  id uuid not null,
  key_id uuid,
  domain_id uuid not null,
  domain text not null,
  from_address text not null,
  subject text not null,
  -- Follows from the id: a reply is matched by reading the id out of it, so no index is needed.
  message_id text not null,
  envelope jsonb not null,
  metadata jsonb not null default '{}',
  test boolean not null default false,
  status text not null default 'queued' check (status in ('queued', 'sent', 'failed')),
  status_message text not null default '',
  open integer not null check (open >= 0),
  accepted integer not null default 0 check (accepted >= 0),
  total integer not null,
  size_bytes bigint not null,
  content_day date not null,
  scheduled_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id)
) partition by range (id);
-- What a workspace is searched by stands first, here and below: behind the workspace, PostgreSQL 18 takes such an index for as good as the
-- primary key while it knows little of a young table, and reads all of the workspace for each row.
create index emails_by_domain on emails (domain, workspace_id, id);
create index emails_by_metadata on emails using gin (metadata) where metadata <> '{}';

-- What was asked for, in pieces of at most 256 Ki characters: part 0 is the text as JSON, part n attachment n in base64.
create table email_contents (
  workspace_id uuid not null,
  email_id uuid not null,
  day date not null,
  part smallint not null,
  piece integer not null,
  data text not null,
  primary key (workspace_id, email_id, day, part, piece)
) partition by range (day);

-- The queue: one narrow row per recipient. Lease fields are in no index, so that taking a lease is an update in place.
create table recipients (
  workspace_id uuid not null,
  email_id uuid not null,
  position smallint not null,
  kind text not null check (kind in ('to', 'cc', 'bcc')),
  address text not null,
  destination text not null,
  status text not null default 'queued'
    check (status in ('queued', 'delayed', 'delivered', 'sent', 'bounced', 'failed', 'suppressed', 'canceled')),
  due_at timestamptz not null,
  attempts smallint not null default 0,
  lease bigint,
  in_doubt boolean not null default false,
  reply text,
  remote_mx text,
  last_attempt_at timestamptz,
  settled_at timestamptz,
  primary key (workspace_id, email_id, position)
) partition by range (email_id);
-- Lanes: the loop walks (destination, workspace) by skipping through this index and takes the oldest due rows of each.
create index recipients_due on recipients (destination, workspace_id, due_at) where status in ('queued', 'delayed');
create index recipients_by_address on recipients (lower(address), workspace_id, email_id);

-- What a simulated recipient still does after its delivery: a complaint, a reply.
create table follow_ups (
  workspace_id uuid not null,
  email_id uuid not null,
  position smallint not null,
  kind text not null check (kind in ('complaint', 'reply')),
  due_at timestamptz not null,
  primary key (workspace_id, email_id, position)
);
create index follow_ups_due on follow_ups (due_at);

create table idempotency (
  workspace_id uuid not null,
  key text not null,
  request_hash text not null,
  -- The email that the key was used for; a batch has its whole answer instead.
  email_id uuid,
  answer jsonb,
  expires_at timestamptz not null,
  primary key (workspace_id, key),
  check ((email_id is null) <> (answer is null))
);
create index idempotency_expired on idempotency (expires_at);

-- Where a recipient's domain delivers to: found by DNS, shared by all nodes.
create table destinations (
  domain text primary key,
  site text not null,
  resolved_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index destinations_expired on destinations (expires_at);

-- What a workspace holds back; its mail for the destination waits, and expires, without being tried.
create table paused_destinations (
  workspace_id uuid not null,
  destination text not null,
  paused_at timestamptz not null default now(),
  primary key (workspace_id, destination)
);

-- Receivers in trouble, as all nodes together have found them. A site without a row is well. Written in batches, never per recipient.
create table sites (
  site text primary key,
  -- Connections of all nodes together; null: as many as the site's limit says.
  allowance real check (allowance >= 1),
  shrunk_at timestamptz,
  back_off_until timestamptz,
  failures integer not null default 0,
  last_reply text,
  last_reply_at timestamptz,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);
create index sites_changed on sites (updated_at);

-- RFC 8461: policies of recipients' domains; mode none also stands for "asked, and there is none".
create table mta_sts_policies (
  domain text primary key,
  policy_id text not null,
  mode text not null check (mode in ('enforce', 'testing', 'none')),
  hosts text[] not null default '{}',
  fetched_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index mta_sts_expired on mta_sts_policies (expires_at);

create table events (
  workspace_id uuid not null,
  number bigint not null,
  id uuid not null,
  type text not null,
  email_id uuid,
  -- Copied from the email, so that an event tells its story also after the email has gone.
  message_id text,
  metadata jsonb not null default '{}',
  payload jsonb not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, number, created_at)
) partition by range (created_at);
create index events_by_email on events (email_id, workspace_id, number) where email_id is not null;

create table suppressions (
  workspace_id uuid not null,
  address text not null,
  reason text not null check (reason in ('bounce', 'complaint', 'manual', 'import')),
  source_event uuid,
  note text not null default '',
  created_at timestamptz not null default now(),
  primary key (workspace_id, address)
);
create index suppressions_newest on suppressions (workspace_id, created_at desc, address);

create table webhooks (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  url text not null,
  -- Empty: all, those added later included.
  event_types text[] not null default '{}',
  description text not null default '',
  secret_sealed text not null,
  previous_secret_sealed text,
  previous_secret_until timestamptz,
  -- How far it has read the log: the number of the last event looked at, and when that event happened.
  followed bigint not null,
  followed_at timestamptz not null default now(),
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret_sealed is null) = (previous_secret_until is null))
) with (fillfactor = 50);

-- The queue and the log of webhooks: one row per event and webhook, and one for each that is asked for again.
create table webhook_deliveries (
  workspace_id uuid not null,
  webhook_id uuid not null,
  id uuid not null,
  -- Null for a test, whose event is in no log.
  event_number bigint,
  event_id uuid not null,
  event_type text not null,
  -- The event's own time: with it the event is found in its one partition.
  event_at timestamptz not null,
  email_id uuid,
  status text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
  due_at timestamptz not null default now(),
  attempts smallint not null default 0,
  lease bigint,
  response_status integer,
  response_head text,
  duration_ms integer,
  error text,
  last_attempt_at timestamptz,
  settled_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (workspace_id, webhook_id, id),
  check (status <> 'queued' or event_number is not null),
  check ((settled_at is null) = (status = 'queued'))
) partition by range (id);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at, event_number) where status = 'queued';
-- What a later event of the same email waits for.
create index webhook_deliveries_untried on webhook_deliveries (webhook_id, email_id, event_number)
  where status = 'queued' and attempts = 0 and email_id is not null;
create index webhook_deliveries_by_event on webhook_deliveries (webhook_id, event_id);
create index webhook_deliveries_failed on webhook_deliveries (workspace_id, webhook_id, id) where status = 'failed';

-- Mail that arrived for a workspace: one row per message and receiving domain, whoever of it the message was for.
create table inbound_messages (
  workspace_id uuid not null,
  id uuid not null,
  domain_id uuid not null,
  domain text not null,
  recipients text[] not null,
  sender text not null,
  from_address text not null,
  subject text not null,
  message_id text,
  in_reply_to text,
  parent_email_id uuid,
  kind text not null check (kind in ('reply', 'received')),
  auto_submitted boolean not null default false,
  content_hash text not null,
  size_bytes bigint not null,
  summary jsonb not null default '{}',
  verdicts jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
) partition by range (id);
create index inbound_by_parent on inbound_messages (parent_email_id, workspace_id, id) where parent_email_id is not null;
create index inbound_by_domain on inbound_messages (domain, workspace_id, id);
create index inbound_by_recipient on inbound_messages using gin (recipients);

-- The message as it arrived, in pieces of base64.
create table inbound_contents (
  workspace_id uuid not null,
  inbound_id uuid not null,
  piece integer not null,
  data text not null,
  primary key (workspace_id, inbound_id, piece)
) partition by range (inbound_id);

-- The same message again changes nothing: what was seen, kept as long as senders retry.
create table inbound_seen (
  workspace_id uuid not null,
  fingerprint text not null,
  inbound_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, fingerprint)
);
create index inbound_seen_old on inbound_seen (created_at);

-- Mail counted by the hour, so that figures over time cost the same however long the log is. Written by the fold (store/stats-fold.ts) alone.
create table stats (
  workspace_id uuid not null,
  hour timestamptz not null,
  -- Empty: all of the workspace. Else a receiver's site, or 'other' for those past the hour's largest.
  site text not null,
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
  -- How long deliveries took: a histogram over the bounds in rules/stats-times.ts, without the zeros at its end.
  times integer[] not null,
  primary key (workspace_id, hour, site)
) with (fillfactor = 70);
create index stats_old on stats (hour);

-- How far each workspace is counted. Locked while its counts change, and moved in the same statement with them.
create table stats_marks (
  workspace_id uuid primary key,
  -- The last event counted, and when it happened.
  events_to bigint not null default 0,
  events_at timestamptz not null default 'epoch',
  -- The last email counted.
  emails_to uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Emails of the hours before this one were counted once more when all of them had been committed.
  recounted_to timestamptz not null default 'epoch'
) with (fillfactor = 70);
