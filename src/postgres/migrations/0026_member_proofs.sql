-- Where a membership came from, and what its invitation proves (docs/decisions/0040-single-sign-on.md).
alter table members
  -- The issuer whose claim decides this role at each sign-in. Null: an owner, an invitation or the sign-up gave it.
  add column role_issuer text,
  -- The invitation whose link only its mail contains. Equal to invite_hash: a person with that link can read the mailbox.
  add column mailed_invite_hash text;
