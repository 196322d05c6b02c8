-- Service time. Until then, a person who has nothing to confirm with may add the first factor: the provider does not say when they signed
-- in there (docs/decisions/0042-proofs-by-a-provider.md).
alter table people_sessions add column first_factor_until timestamptz;
