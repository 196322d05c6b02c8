-- When deliveries of a webhook last succeeded and failed, for its list. Settling writes them at most once a minute for each webhook.
alter table webhooks add column last_success_at timestamptz, add column last_failure_at timestamptz;
