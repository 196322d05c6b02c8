-- Keys with an end, for the reminders before it.
create index concurrently keys_expiring on keys (expires_at) where expires_at is not null and revoked_at is null;
