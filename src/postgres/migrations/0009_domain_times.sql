-- Service time (0006) of a domain's registration and last check, by which the rules of a check measure. created_at and last_checked_at are
-- the same moments in wall time, which is shown. Null for rows of earlier programs, whose wall time then counts.
alter table domains
  add column registered_at timestamptz,
  add column checked_at timestamptz;
