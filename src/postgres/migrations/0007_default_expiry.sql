-- Mail without an expiresAt of its caller expires by service time, so that a jump of the database's clock expires nothing.
alter table emails
  -- Service time; null when the caller named expiresAt, and for mail of earlier versions. Then expires_at decides, by the database's clock.
  add column default_expires_at timestamptz;
