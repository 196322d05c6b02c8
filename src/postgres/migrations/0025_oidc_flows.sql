-- Sign-ins at a provider that have begun (docs/decisions/0040-single-sign-on.md). Each works once and for ten minutes.
create table oidc_flows (
  -- Only hashes of the state, which the provider returns, and of the cookie that binds it to the browser.
  state_hash text primary key,
  browser_hash text not null,
  provider text not null,
  issuer text not null,
  nonce text not null,
  code_verifier text not null,
  redirect_uri text not null,
  -- A local path.
  return_path text not null,
  -- Set to link the provider to the account of this session, instead of signing in.
  session_id uuid,
  -- Set to accept this invitation (members.invite_hash).
  invite_hash text,
  expires_at timestamptz not null,
  service_expires_at timestamptz not null
);
