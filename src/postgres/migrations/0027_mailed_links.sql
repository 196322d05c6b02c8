-- Whether the link was sent to its address only. One that the operator printed proves no mailbox.
alter table people_links add column by_mail boolean not null default false;
