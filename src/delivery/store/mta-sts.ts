/** Stores fetched MTA-STS policies, shared by all nodes. Called by ../mta-sts.ts; housekeeping deletes expired policies. */

import type { Sql } from "../../postgres/pool.ts";
import type { StsPolicy } from "../rules/mta-sts.ts";

export type StoredPolicy = StsPolicy & { id: string; ttlMs: number };

export async function readStsPolicy(sql: Sql, domain: string): Promise<StoredPolicy | undefined> {
  const [row] = await sql<StoredPolicy[]>`
    select policy_id as id, mode, hosts, (extract(epoch from expires_at - (select service_time())) * 1000)::float8 as "ttlMs"
    from mta_sts_policies where domain = ${domain} and expires_at > (select service_time())`;
  return row;
}

export async function saveStsPolicy(sql: Sql, domain: string, policy: StoredPolicy): Promise<void> {
  await sql`
    insert into mta_sts_policies (domain, policy_id, mode, hosts, fetched_at, expires_at)
    values (${domain}, ${policy.id}, ${policy.mode}, ${policy.hosts}, now(), service_time() + ${policy.ttlMs}::float8 * interval '1 millisecond')
    on conflict (domain) do update set policy_id = excluded.policy_id, mode = excluded.mode, hosts = excluded.hosts,
      fetched_at = excluded.fetched_at, expires_at = excluded.expires_at`;
}

export async function forgetStsPolicies(sql: Sql): Promise<void> {
  await sql`delete from mta_sts_policies where expires_at < (select service_time())`;
}
