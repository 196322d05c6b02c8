-- DKIM keys that a workspace brought with it (docs/decisions/0059-own-dkim-keys.md). The owner of the domain publishes the public key
-- under the selector; the key signs while checks find it there. A removed key is deleted. The key goes with its domain, also when a node
-- of an earlier release removes the domain.
create table imported_dkim_keys (
  workspace_id uuid not null,
  id uuid not null,
  domain_id uuid not null,
  selector text not null,
  public_key text not null,
  private_key_sealed text not null,
  bits smallint not null,
  primes smallint not null,
  -- The judgment of the last check: status, value found, note.
  finding jsonb not null default '{}',
  -- Service time since which checks find the public key in DNS; null: they do not.
  found_since timestamptz,
  last_signed_at timestamptz,
  created_at timestamptz not null default wall_time(),
  primary key (workspace_id, id),
  foreign key (workspace_id, domain_id) references domains (workspace_id, id) on delete cascade
);
create unique index imported_dkim_keys_by_selector on imported_dkim_keys (workspace_id, domain_id, selector);
