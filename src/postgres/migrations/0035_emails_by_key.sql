-- ListEmails with a key. Its columns never change, so that updates of emails stay in place.
create index concurrently emails_by_key on emails (key_id, workspace_id, id);
