-- Recent proofs by a provider (docs/decisions/0042-proofs-by-a-provider.md).
alter table oidc_flows
  -- Set to confirm who the person of this session is, instead of signing in. Earlier releases sign in then.
  add column confirm_session_id uuid;
alter table people_sessions
  -- Service time. Until then, a person who has nothing to confirm with may add the first factor: the provider does not say when they
  -- signed in there.
  add column first_factor_until timestamptz;
