-- By which words the list of emails finds an email: hashes of the words of its subject, of the beginnings of its recipients' addresses and
-- of its metadata entries (src/emails/rules/terms.ts). Filled behind the accept.
create table email_terms (
  workspace_id uuid not null,
  term bigint not null,
  email_id uuid not null,
  primary key (workspace_id, term, email_id)
) partition by range (email_id);

-- Emails that are accepted and not in email_terms yet, those of one statement in one row.
create table email_arrivals (
  workspace_id uuid not null,
  newest uuid not null,
  email_ids uuid[] not null,
  primary key (workspace_id, newest)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
