-- One row for each mail about an account that a person or a stranger caused: sign-up, password reset, invitation. The rows of the last
-- day bound how much of it one address gets, and how much one inviter and one client cause, on all nodes and across restarts.
create table account_mail (
  id uuid primary key,
  kind text not null check (kind in ('sign_up', 'reset', 'invitation')),
  -- The recipient, in lower case. A reset of an address without an account has a row too, although no mail is sent.
  email text not null,
  -- The person who invited; null for other kinds.
  person_id uuid,
  -- The network of the client, such as 192.0.2.1 or 2001:db8::/56; null for invitations.
  client text,
  -- Service time.
  counted_at timestamptz not null default service_time()
);
create index account_mail_by_email on account_mail (email, counted_at);
create index account_mail_by_person on account_mail (person_id, counted_at) where person_id is not null;
create index account_mail_by_client on account_mail (client, counted_at) where client is not null;
create index account_mail_by_time on account_mail (counted_at);
