/** A tenant that moves large content from day to day with short calls of UpdateEmail: it is refused, and another tenant's emails move. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { emailOf, type Neighbours, requireOk, startNeighbours, type Tenant } from "../harness/neighbours.ts";

let all: Neighbours;
before(async () => {
  all = await startNeighbours({ env: { POSTHORN_DELIVERY: "capture" } });
});
after(async () => await all.stop());

/** Noon, so that an hour later is the same day. */
function noonIn(days: number, plusMs = 0): string {
  const noon = new Date(Date.now() + days * 86_400_000).setUTCHours(12, 0, 0, 0);
  return new Date(noon + plusMs).toISOString();
}

test("large content that moves again and again is refused, other changes and other tenants are not", async () => {
  const { program, database, attacker, other } = all;
  const update = ({ key }: Tenant, id: string, scheduledAt: string) =>
    program.call("EmailService/UpdateEmail", { id, scheduledAt }, { key });
  const schedule = async (tenant: Tenant) => {
    const request = emailOf(tenant, { scheduledAt: noonIn(3) });
    const { id } = requireOk(await program.call("EmailService/SendEmail", request, { key: tenant.key }));
    // As large as an email may be, without the time that its content would take.
    await database.sql`update emails set size_bytes = 40 * 1024 * 1024 where id = ${(id as string).slice(3)}`;
    return id as string;
  };
  const id = await schedule(attacker);
  let [moves, refused] = [0, await update(attacker, id, noonIn(4))];
  for (; refused.status === 200 && moves < 100; moves++) refused = await update(attacker, id, noonIn(5 + (moves % 2)));
  assert.equal(refused.status, 429, `${moves} moves`);
  assert.equal(refused.body.code, "resource_exhausted");
  assert.match(String(refused.body.message), /Nothing was changed\. Try again in \d+ s, or choose a time on .* UTC/);
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.ok(moves > 20, `${moves} moves`);
  const days = await database.sql<{ day: string }[]>`
    select distinct c.day::text from email_contents c join emails e on e.id = c.email_id and e.content_day = c.day
    where c.email_id = ${id.slice(3)}`;
  const { day } = days[0]!;
  requireOk(await update(attacker, id, `${day}T13:00:00Z`));
  requireOk(await update(other, await schedule(other), noonIn(6)));
});
