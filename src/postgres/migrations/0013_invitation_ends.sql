-- An invitation ends when either clock reaches its end: invite_expires_at in wall time, this one in service time.
alter table members add column invite_service_expires_at timestamptz;
