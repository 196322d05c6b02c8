-- Operators, and people who are disabled (docs/decisions/0041-operators-and-deletion.md).
alter table people
  -- Manages the people and workspaces of the whole service. Set only by the command line.
  add column is_operator boolean not null default false,
  -- Wall time. Null: the person may sign in.
  add column disabled_at timestamptz;
