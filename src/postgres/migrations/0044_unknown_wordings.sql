-- Replies of receivers that no rule knows by their wording, counted by shape: words without addresses, names and numbers.
create table unknown_wordings (
  id uuid primary key,
  site text not null,
  phase text not null,
  code integer not null,
  enhanced text not null,
  shape text not null,
  category text not null,
  replies bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  unique (site, phase, code, enhanced, shape)
);
