-- Every attempt of a webhook delivery, with what was sent and received (docs/decisions/0047-webhook-attempts.md). Written by the statement
-- that settles the attempt, and kept as long as the delivery.
create table webhook_attempts (
  workspace_id uuid not null,
  webhook_id uuid not null,
  delivery_id uuid not null,
  number smallint not null,
  url text not null,
  -- One header per line, with the signature and never with the secret.
  request_headers text not null,
  response_status integer,
  response_headers text not null,
  -- The first 4 KiB.
  response_body text not null,
  duration_ms integer not null,
  error text not null,
  attempted_at timestamptz not null,
  primary key (workspace_id, webhook_id, delivery_id, number)
) partition by range (delivery_id);
