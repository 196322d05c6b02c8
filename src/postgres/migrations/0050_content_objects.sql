-- Large content in object storage (docs/decisions/0063-object-storage.md). A row is one part of an email, or one inbound message, whose
-- content is an object. Without POSTHORN_CONTENT_URL the tables stay empty.
create table content_objects (
  id uuid primary key,
  workspace_id uuid not null,
  -- The email or the inbound message.
  owner_id uuid not null,
  part smallint not null,
  content text not null check (content in ('emails', 'inbound')),
  -- Of the object's name.
  line text not null,
  -- The content is deleted with this day.
  day date not null,
  -- Of the content, not of the object.
  bytes bigint not null check (bytes >= 0),
  -- The object's own key. Deleting the row makes the object unreadable.
  key_sealed text not null,
  unique (workspace_id, owner_id, part)
);
create index content_objects_by_day on content_objects (content, day);

-- Objects that no row refers to any longer, until the store has deleted them.
create table unused_objects (
  id uuid primary key,
  line text not null,
  unused_at timestamptz not null default service_time()
);
create index unused_objects_by_age on unused_objects (unused_at);

create function note_unused_objects() returns trigger language plpgsql as $$
begin
  insert into unused_objects (id, line) select id, line from gone on conflict (id) do nothing;
  return null;
end $$;
create trigger note_unused_objects after delete on content_objects referencing old table as gone for each statement execute function note_unused_objects();

-- A new line begins with each cut of the event logs. A database deletes only objects of lines that it knows, so it never deletes what another
-- copy of it has written.
create table object_lines (
  line text primary key,
  cut text not null unique,
  created_at timestamptz not null default service_time()
);
