-- Mail of the service itself has a workspace of its own, of the kind 'system' (docs/decisions/0048-system-mail.md).
alter table workspaces add column kind text not null default 'customer';
