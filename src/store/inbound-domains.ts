/** Domains that mail may come for before their MX record was seen. */
import type { Sql } from "./db.ts";

/** Somebody has proved control of the name, and does not receive here yet: a sender may try again. Index domains_proved. */
export async function hasProvedDomain(sql: Sql, name: string): Promise<boolean> {
  const rows = await sql`
    select 1 from domains where domain = ${name} and deleted_at is null and control_proved_at is not null and status <> 'failed' limit 1`;
  return rows.length > 0;
}
