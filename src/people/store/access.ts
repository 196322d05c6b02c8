/** The SQL that finds out whether a person belongs to this service: by a membership, as an operator, by an open invitation, or as its first person. */
import type { Sql } from "../../postgres/pool.ts";

/** Primary key of people. Also true for a person who was deleted. */
export async function isDisabled(sql: Sql, personId: string): Promise<boolean> {
  return (await sql`select 1 from people where id = ${personId} and disabled_at is null`).length === 0;
}

/** For the end of a transaction that changes something of a person who signs in. The lock makes a concurrent disablePerson wait. False: the
 * person is disabled or was deleted. */
export async function lockEnabled(sql: Sql, personId: string): Promise<boolean> {
  return (await sql`select 1 from people where id = ${personId} and disabled_at is null for share`).length > 0;
}

/** An operator needs no workspace. Index members_by_person, and the primary key of people. */
export async function isMemberOrOperator(sql: Sql, personId: string): Promise<boolean> {
  const rows = await sql`
    select 1 where exists (select 1 from members where person_id = ${personId})
      or exists (select 1 from people where id = ${personId} and is_operator)`;
  return rows.length > 0;
}

/** An invitation ends by wall time or by service time, whichever comes first (index members_invited). */
export async function isInvited(sql: Sql, email: string): Promise<boolean> {
  const rows = await sql`
    select 1 from members where email = ${email} and person_id is null and invite_expires_at > wall_time()
      and coalesce(invite_service_expires_at > (select service_time()), true) limit 1`;
  return rows.length > 0;
}

/** Whether the person is the first one in a service where no workspace has an owner. */
export async function mayFoundService(sql: Sql, personId: string): Promise<boolean> {
  const rows = await sql`
    select 1 from (select id from people order by id limit 1) p where p.id = ${personId}
      and not exists (select 1 from members where role = 'owner' and person_id is not null)`;
  return rows.length > 0;
}
