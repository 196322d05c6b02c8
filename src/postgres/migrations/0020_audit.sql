-- Who changed what (docs/decisions/0039-audit-log.md). Entries hold ids, never names, email addresses or mail.
create table audit_entries (
  id bigint generated always as identity primary key,
  -- Null: the change concerns the whole service.
  workspace_id uuid,
  -- To the millisecond, so that a page can continue after the time of its last entry.
  at timestamptz not null default date_trunc('milliseconds', wall_time()),
  -- Service time: a jump of the database's clock must not delete entries early.
  stored_at timestamptz not null default service_time(),
  -- 'person', 'key', 'command' for the operator's command line, 'service' for the program itself, 'stranger' before a sign-in.
  actor text not null,
  actor_id uuid,
  -- A noun and a verb, such as 'key.created'.
  action text not null,
  -- The kind and the id of the changed thing.
  target text,
  target_id uuid,
  -- Names of the changed fields.
  fields text[] not null default '{}',
  -- Why something was refused, as a constant.
  reason text
);
create index audit_by_age on audit_entries (stored_at);
create index audit_by_time on audit_entries (at, id);
create index audit_by_workspace on audit_entries (workspace_id, at, id);
create index audit_by_actor on audit_entries (actor_id, at, id) where actor_id is not null;
create index audit_by_target on audit_entries (target_id, at, id) where target_id is not null;

create function audit_entries_are_final() returns trigger language plpgsql as $$
begin
  raise exception 'entries of the audit log are never changed';
end $$;
create trigger audit_entries_are_final before update on audit_entries for each row execute function audit_entries_are_final();

-- The addresses of clients, apart from the entries: they are deleted with the person.
create table audit_clients (
  entry_id bigint primary key,
  -- The person who acted, or who created the key that acted. Without a person: deleted with the entry or the workspace.
  person_id uuid references people (id) on delete cascade,
  address text not null
);
create index audit_clients_by_person on audit_clients (person_id) where person_id is not null;
