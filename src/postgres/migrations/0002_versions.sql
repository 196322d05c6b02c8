-- Schema versions from 2 on are recorded here and no longer in schema_migrations: the program of version 1 refuses every row there that
-- it does not know, and so it still starts on a newer schema for as long as that schema serves it.
create table schema_versions (
  version integer primary key,
  name text not null,
  checksum text not null,
  -- The lowest schema version whose program still works on this schema. A program below it refuses to start.
  serves integer not null,
  applied_at timestamptz not null default now()
);

-- Work on existing rows that housekeeping does in batches after a migration (src/store/backfill.ts).
create table backfills (
  name text primary key,
  -- The schema version that asked for it. A program below writes rows that need it.
  since integer not null,
  -- Where the next batch begins, in the backfill's own words. Null: at the beginning.
  position text,
  rows bigint not null default 0,
  started_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz
);

-- The schema version that a running program was written for; null for a program of version 1.
alter table workers add column schema_version integer;
