-- The person who created a key in the dashboard. Without a reference to people: it stays as an id when the person is deleted.
alter table keys add column if not exists maker_id uuid;
