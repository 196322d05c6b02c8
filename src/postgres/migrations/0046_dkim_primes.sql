-- How many primes a DKIM key has (docs/decisions/0016-three-primes.md). Earlier releases made keys with three.
alter table dkim_keys add column primes smallint not null default 3;
