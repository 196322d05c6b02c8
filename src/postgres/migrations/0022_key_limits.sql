-- Makers, limits, expiry and rotation of API keys (docs/decisions/0037-keys.md). Every program writes only permissions of this list.
-- serves: 1
alter table keys
  -- The person or the key that created the key. Both null: the command line, the first start, or an earlier version.
  add column maker_person_id uuid,
  add column maker_key_id uuid,
  add column last_used_address text,
  -- True: secret_hash holds the hash of a limited key, which programs that do not know the limits cannot match.
  add column limited boolean not null default false,
  -- Counts changes of scopes and addresses, by which open streams notice them.
  add column limits_version integer not null default 0,
  -- Set for the permission 'scoped' only.
  add column scopes text[],
  -- Sending domains. Null: see domain. A send key with one domain has it in domain.
  add column domains text[],
  add column allowed_recipients text[],
  -- In CIDR notation.
  add column allowed_addresses text[],
  -- The key ends when either clock reaches its end: expires_at in wall time, the other one in service time.
  add column expires_at timestamptz,
  add column service_expires_at timestamptz,
  -- The last reminder before the end: 7 or 1 days. Also set when that moment had passed before the end was set.
  add column reminded_days smallint,
  add column rotated_from uuid,
  drop constraint keys_permission_check,
  add constraint keys_permission_known check (permission in ('full', 'send', 'read', 'scoped')) not valid;
