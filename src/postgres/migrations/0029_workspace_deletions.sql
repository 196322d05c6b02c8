-- The deletion of workspaces (docs/decisions/0041-operators-and-deletion.md).
alter table workspaces
  -- Wall time. Set when the deletion begins; the row itself is deleted last.
  add column deleting_at timestamptz;

-- Deletions that are in progress or that ended within the last days: statements that ran at the same time may have left rows, which a
-- later sweep deletes. Contains nothing but the id of the workspace.
create table workspace_deletions (
  workspace_id uuid primary key,
  -- All in service time.
  requested_at timestamptz not null default service_time(),
  -- Null: rows are left.
  finished_at timestamptz,
  swept_at timestamptz
);

-- Public DKIM keys of deleted workspaces. Our DNS serves them until mail in transit has been verified.
create table kept_dkim_keys (
  label text primary key,
  public_key text not null,
  -- Service time.
  kept_until timestamptz not null
);
