-- A link ends when either clock reaches its end: expires_at in wall time, this one in service time.
alter table people_links add column service_expires_at timestamptz;
