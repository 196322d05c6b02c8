-- Scheduled mail, whose due times change when the database's clock jumps.
create index concurrently emails_scheduled on emails (scheduled_at) where scheduled_at is not null;
