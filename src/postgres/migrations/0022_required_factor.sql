-- Whether members need a session with a second factor (docs/decisions/0036-second-factors.md).
alter table workspaces add column require_second_factor boolean not null default false;
