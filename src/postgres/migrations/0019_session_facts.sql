-- How the person of a session proved who they are (docs/decisions/0036-second-factors.md). Sessions of earlier releases came by password.
alter table people_sessions
  -- 'password', 'passkey', or 'oidc'.
  add column signed_in_by text not null default 'password',
  -- Signed in with a second factor, or with something that counts as one.
  add column has_second_factor boolean not null default false,
  -- Service time of the last proof. Some changes need a recent one. Null for sessions from before this column: not recent.
  add column proved_at timestamptz;
alter table people_sessions alter column proved_at set default service_time();
