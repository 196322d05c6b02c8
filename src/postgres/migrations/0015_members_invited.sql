-- Serves the question whether an address has an open invitation: a person without a workspace may sign in to accept it.
create index concurrently members_invited on members (email) where person_id is null;
