-- The zone that holds a domain's records at its DNS provider, and the zone's name servers, as of the last check that
-- could tell (docs/decisions/0045-domain-set-up.md).
alter table domains add column dns_zone text;
alter table domains add column name_servers text[] not null default '{}';
