-- The ids of the secrets that a program holds, the one that it seals and signs with first (docs/decisions/0038-replacing-the-secret.md). Null
-- for a program of an earlier release.
alter table workers add column secret_keys text[];
