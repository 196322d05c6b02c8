-- What delivery knows of a receiver survives a restart: a site that answered before is not treated as unknown again.
alter table sites
  -- The last time that the site accepted or refused mail; null: not recorded.
  add column answered_at timestamptz,
  -- Since when the site has not answered; null: it answers.
  add column stalled_at timestamptz,
  -- The usual time until an answer in milliseconds, by step: open, envelope, dot.
  add column usual_ms jsonb;
