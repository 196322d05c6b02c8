-- Links that show the DNS records of a domain without a sign-in (docs/decisions/0045-domain-set-up.md). A revoked link is deleted.
create table domain_links (
  workspace_id uuid not null,
  id uuid not null,
  domain_id uuid not null,
  token_hash text not null,
  created_at timestamptz not null default wall_time(),
  -- The wall time that is shown, and the service time that decides.
  expires_at timestamptz not null,
  service_expires_at timestamptz not null,
  last_viewed_at timestamptz,
  primary key (workspace_id, id)
);
create unique index domain_links_by_token on domain_links (token_hash);
create index domain_links_by_domain on domain_links (workspace_id, domain_id, id);
create index domain_links_expired on domain_links (service_expires_at);
