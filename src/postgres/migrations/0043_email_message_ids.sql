-- Emails whose Message-ID the sender chose, by that id in lower case, so that replies and reports find them. Our own ids contain the email's id.
create table email_message_ids (
  workspace_id uuid not null,
  message_id text not null,
  email_id uuid not null,
  primary key (workspace_id, message_id, email_id)
) partition by range (email_id);
