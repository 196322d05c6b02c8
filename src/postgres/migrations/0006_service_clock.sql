-- Service time: a clock that advances only with time that a program observed, so that a jump of the database's clock moves no deadline.
-- src/postgres/service-clock.ts has the rules, docs/decisions/0030-service-time.md the reasons. The table has exactly one row.
create table service_clock (
  id boolean primary key default true check (id),
  -- False until the first heartbeat, which sets both times to the database's clock: an earlier release, which knows only that clock, may
  -- serve for hours after this migration.
  started boolean not null default false,
  -- Service time at the last heartbeat of any program.
  service_at timestamptz not null,
  -- The database's clock at that heartbeat.
  wall_at timestamptz not null,
  -- The database's clock when the partitions around it were last known to exist.
  partitions_at timestamptz not null,
  -- Wall time minus service time, with which the due times of scheduled mail were last computed.
  scheduled_lag interval not null default interval '0'
) with (fillfactor = 50);
insert into service_clock (service_at, wall_at, partitions_at) values (now(), now(), now());

-- Partitions that can get no new rows, because the database's clock is not in their range, and the service time since then.
create table closed_partitions (
  name text primary key,
  closed_at timestamptz not null
);
-- Partitions that ended before this migration closed at their end.
insert into closed_partitions (name, closed_at)
  select c.relname, e.ends_at from pg_inherits i join pg_class c on c.oid = i.inhrelid,
    lateral (select (to_date(substring(c.relname from '_p(\d{8})$'), 'YYYYMMDD')
      + case when c.relname like 'email\_contents\_p%' then 1 else 7 end)::timestamp at time zone 'UTC' as ends_at) e
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and e.ends_at <= now();

-- The database's clock. Statements read it through this function, so that a test can move it.
create function wall_time() returns timestamptz language sql volatile parallel safe
  return clock_timestamp();

-- Between heartbeats service time follows the database's clock, by at most 15 seconds. In plpgsql, because a session keeps its plan.
create function service_time() returns timestamptz language plpgsql stable parallel safe as $$
begin
  return (select service_at + least(greatest(public.wall_time() - wall_at, interval '0'), interval '15 seconds')
    from public.service_clock);
end $$;

-- The database's clock within the range for which partitions exist: for ids and for events.created_at.
create function stamp_time() returns timestamptz language plpgsql stable parallel safe as $$
begin
  return (select least(greatest(public.wall_time(), partitions_at - interval '1 day'), partitions_at + interval '1 day')
    from public.service_clock);
end $$;

-- Service time of the last heartbeat. Null for a program of an earlier version, which writes only seen_at.
alter table workers add column beat_at timestamptz;
