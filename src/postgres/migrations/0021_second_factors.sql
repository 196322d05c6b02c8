-- Second factors of people (docs/decisions/0036-second-factors.md).
create table people_totp (
  person_id uuid primary key references people (id) on delete cascade,
  -- Sealed with the secret of the service.
  secret text not null,
  created_at timestamptz not null default wall_time(),
  -- Null until the person has entered a first code.
  confirmed_at timestamptz,
  -- The time steps of the last accepted codes: a code works once (RFC 6238 §5.2). A list, because the clock may be set back.
  used_steps bigint[] not null default '{}'
);

create table people_recovery_codes (
  person_id uuid not null references people (id) on delete cascade,
  code_hash text not null,
  primary key (person_id, code_hash)
);

create table people_passkeys (
  id uuid primary key,
  person_id uuid not null references people (id) on delete cascade,
  -- Base64url, chosen by the authenticator.
  credential_id text not null unique,
  -- COSE.
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null default '{}',
  name text not null,
  created_at timestamptz not null default wall_time(),
  last_used_at timestamptz
);
create index people_passkeys_by_person on people_passkeys (person_id);

-- Challenges of passkeys that were answered: each works once. Only correct answers are stored.
create table people_used_challenges (
  challenge_hash text primary key,
  service_expires_at timestamptz not null
);

-- Sign-ins that wait for their second factor.
create table people_sign_ins (
  token_hash text primary key,
  person_id uuid not null references people (id) on delete cascade,
  -- The first step: 'password' or 'oidc'.
  signed_in_by text not null,
  -- Codes and passkeys that were tried.
  tries int not null default 0,
  service_expires_at timestamptz not null
);
create index people_sign_ins_by_person on people_sign_ins (person_id);
