-- Recipients who have unsubscribed from a topic of a workspace (docs/decisions/0057-one-click-unsubscribe.md). Kept until the recipient or a
-- caller removes the row. The key signs the links in emails: it is sealed, and stays the same when POSTHORN_SECRET is replaced.
create table unsubscribes (
  workspace_id uuid not null,
  -- In lower case.
  address text not null,
  -- '*': all topics, also later ones.
  topic text not null,
  method text not null check (method in ('one_click', 'page', 'api')),
  email_id uuid,
  source_event uuid,
  created_at timestamptz not null,
  primary key (workspace_id, address, topic)
);
create index unsubscribes_newest on unsubscribes (workspace_id, created_at desc, address, topic);

create table unsubscribe_keys (
  id uuid primary key,
  -- The first octet of a link's token says which key it was made with.
  number smallint not null unique,
  key_sealed text not null,
  created_at timestamptz not null
);
