-- A program of version 1 does not know backfills, and registers without a schema version. The rows that it writes need them again.
create function reopen_backfills() returns trigger language plpgsql as $$
begin
  update backfills set position = null, finished_at = null, updated_at = now() where position is not null or finished_at is not null;
  return null;
end $$;

create trigger reopen_backfills after insert on workers for each row when (new.schema_version is null) execute function reopen_backfills();
