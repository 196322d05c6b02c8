-- A session whose person proves anew who they are at the provider, instead of signing in
-- (docs/decisions/0042-proofs-by-a-provider.md). Nodes of earlier releases treat such a flow as a sign-in.
alter table oidc_flows add column confirm_session_id uuid;
