-- Service time since when every delivery fails, by which a webhook is disabled. failing_since is the same moment in wall time.
alter table webhooks add column failing_from timestamptz;
