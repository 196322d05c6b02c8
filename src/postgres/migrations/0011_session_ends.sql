-- A session ends when either clock reaches its end. The default also covers rows that the library for sign-in inserts; sessions last 30 days.
alter table people_sessions
  add column service_expires_at timestamptz,
  alter column service_expires_at set default service_time() + interval '30 days';
