/** Pace per site: the connection limit, the allowance of a site in trouble, and the back-off of a site that is down. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { untilSettled } from "../harness/ledger.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

/** Three domains of one receiver, each with its own MX host name. */
const hosted = ["one.test", "two.test", "three.test"];
let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_SITE_LIMITS: "receiver.test=6" } });
  // A short TTL, so that a changed address takes effect soon.
  testbed.dns.ttl = 1;
  for (const [i, domain] of hosted.entries()) {
    testbed.dns.set(domain, "MX", `10 mx${i}.receiver.test`);
    testbed.dns.set(`mx${i}.receiver.test`, "A", "127.0.0.1");
  }
});
beforeEach(() => {
  testbed.sink.script = () => undefined;
});
after(async () => await testbed?.stop());

const open = () => testbed.sink.connections.open;

/** Sends emails to the hosted domains concurrently. */
async function sendMany(name: string, count: number): Promise<string[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, i) => accepted(testbed, { to: [`${name}${i}@${hosted[i % 3]}`], async: true })),
  );
}

async function siteRow() {
  const [row] = await testbed.database.sql<{ allowance: number | null; failures: number; waits: boolean }[]>`
    select allowance::float8 as allowance, failures, coalesce(back_off_until > now(), false) as waits from sites where site = 'receiver.test'`;
  return row;
}

test("domains that share a receiver share its connection limit, whatever their MX host names", async () => {
  await sendMany("limit", 60);
  await untilSettled(testbed);
  assert.ok(testbed.sink.connections.peak <= 6, `${testbed.sink.connections.peak} connections`);
  assert.ok(testbed.sink.connections.peak >= 3, `${testbed.sink.connections.peak} connections`);
  assert.equal(testbed.sink.accepted, 60);
  const { body } = await testbed.call("QueueService/ListDestinations", {});
  assert.deepEqual(body.data, []);
  const known = await testbed.database.sql<{ site: string }[]>`select distinct site from destinations`;
  assert.deepEqual(
    known.map(({ site }) => site),
    ["receiver.test"],
  );
});

test("a receiver that refuses connections gets fewer, and more again when it accepts them", async () => {
  await until("idle connections to close", () => open() === 0);
  testbed.sink.script = ({ verb }) =>
    verb === "connect" && open() > 2 ? { reply: "421 4.7.0 Too many connections", after: "close" } : undefined;
  // The pool opens connections only while mail is due.
  let batch = 0;
  await until("a lower allowance", async () => {
    await sendMany(`cut${batch++}x`, 12);
    return ((await siteRow())?.allowance ?? 6) <= 3;
  });
  await untilSettled(testbed);
  const shown = await siteRow();
  assert.equal(shown!.waits, false, "a receiver that replies gets no back-off");
  testbed.sink.script = () => undefined;
  testbed.sink.connections.peak = 0;
  await until("the allowance to be lifted", async () => {
    await sendMany(`up${batch++}x`, 24);
    await untilSettled(testbed);
    return (await siteRow())?.allowance === null;
  });
  await sendMany("free", 60);
  await untilSettled(testbed);
  assert.ok(testbed.sink.connections.peak > 2, `${testbed.sink.connections.peak} connections after the recovery`);
});

test("a receiver that is down gets one probe and then a back-off, while mail to others is sent", async () => {
  testbed.dns.set("dead.test", "MX", "10 mx.dead.test");
  testbed.dns.set("mx.dead.test", "A", "127.0.0.77");
  const { sql } = testbed.database;
  const ids = await Promise.all(
    Array.from({ length: 30 }, (_, i) => accepted(testbed, { to: [`d${i}@dead.test`], async: true })),
  );
  await until("the first probe", async () => {
    const [row] = await sql<{ failures: number }[]>`select failures from sites where site = 'dead.test'`;
    return row !== undefined && row.failures >= 1;
  });
  // With a back-off of one hour, no recipient of this destination may be leased.
  await sql`update sites set back_off_until = service_time() + interval '1 hour', updated_at = clock_timestamp() where site = 'dead.test'`;
  await until("the node to see the back-off", async () => {
    const [row] = await sql<{ leased: number }[]>`
      select count(*)::int as leased from recipients where destination = 'dead.test' and lease is not null`;
    return row!.leased === 0;
  });
  const otherId = await accepted(testbed, { to: ["free@one.test"] });
  await untilFinished(testbed, otherId);
  const [tried] = await sql<{ untried: number; attempts: number }[]>`
    select count(*) filter (where attempts = 0)::int as untried, sum(attempts)::int as attempts from recipients where destination = 'dead.test'`;
  assert.ok(tried!.untried >= 20, `${tried!.untried} of 30 were never leased, ${tried!.attempts} attempts`);
  // The node stores the site of a destination after its next lane search. Until then one more attempt is possible.
  const shown = await until("the site to be stored", async () => {
    const { body } = await testbed.call("QueueService/ListDestinations", { search: "dead.test" });
    const [one] = body.data as { state: string; queued: number; failures: number; mxSite: string }[];
    return one!.mxSite === "dead.test" && one!.queued === 30 ? one : undefined;
  });
  assert.equal(shown.state, "DESTINATION_STATE_BACKING_OFF");
  const oldestAgeSeconds = async () => {
    const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
    return Number(/^posthorn_queue_oldest_backing_off_seconds (\S+)$/m.exec(text)?.[1]);
  };
  await until("an age in the metrics", async () => (await oldestAgeSeconds()) > 0);
  // The receiver is up again. RetryDestination triggers the next probe, and its success releases the rest.
  testbed.dns.set("mx.dead.test", "A", "127.0.0.1");
  await sql`update recipients set due_at = service_time() where status = 'delayed'`;
  await until(
    "the queue to drain",
    async () => {
      await testbed.call("QueueService/RetryDestination", { destination: "dead.test" });
      const [row] = await sql<{ open: number }[]>`select count(*)::int as open from emails where open > 0`;
      return row!.open === 0;
    },
    // The node caches the server's address for its TTL.
    { everyMs: 300 },
  );
  await until("no age in the metrics", async () => (await oldestAgeSeconds()) === 0);
  for (const id of ids.slice(0, 3)) assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
});
