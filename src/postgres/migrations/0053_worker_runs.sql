-- The run of a supervised process, a random text: its supervisor deletes the rows of a process that has ended
-- (docs/decisions/0064-processes.md). Null for a program without a supervisor.
alter table workers add column run text;
