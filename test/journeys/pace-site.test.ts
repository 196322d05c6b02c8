import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { untilSettled } from "../harness/ledger.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Three domains that one receiver serves, under host names of its own for each. */
const hosted = ["one.test", "two.test", "three.test"];
let world: World;
before(async () => {
  world = await startWorld({ env: { POSTHORN_SITE_LIMITS: "receiver.test=6" } });
  // Answers of DNS are forgotten soon: a server that moves is found.
  world.dns.ttl = 1;
  for (const [i, domain] of hosted.entries()) {
    world.dns.set(domain, "MX", `10 mx${i}.receiver.test`);
    world.dns.set(`mx${i}.receiver.test`, "A", "127.0.0.1");
  }
});
beforeEach(() => {
  world.sink.script = () => undefined;
});
after(async () => await world?.stop());

const open = () => world.sink.connections.open;

/** Emails to the hosted domains, all of them on their way before any is taken. */
async function sendMany(name: string, count: number): Promise<string[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, i) => accepted(world, { to: [`${name}${i}@${hosted[i % 3]}`], async: true })),
  );
}

async function siteRow() {
  const [row] = await world.database.sql<{ allowance: number | null; failures: number; waits: boolean }[]>`
    select allowance::float8 as allowance, failures, coalesce(back_off_until > now(), false) as waits from sites where site = 'receiver.test'`;
  return row;
}

test("domains that share a receiver share its limit, whatever their host names", async () => {
  await sendMany("limit", 60);
  await untilSettled(world);
  assert.ok(world.sink.connections.peak <= 6, `${world.sink.connections.peak} connections`);
  assert.ok(world.sink.connections.peak >= 3, `${world.sink.connections.peak} connections`);
  assert.equal(world.sink.accepted, 60);
  const { body } = await world.call("QueueService/ListDestinations", {});
  assert.deepEqual(body.data, []);
  const known = await world.database.sql<{ site: string }[]>`select distinct site from destinations`;
  assert.deepEqual(
    known.map(({ site }) => site),
    ["receiver.test"],
  );
});

test("a receiver that refuses connections is pressed less, and more again when it takes them", async () => {
  await until("warm sessions to end", () => open() === 0);
  world.sink.script = ({ verb }) =>
    verb === "connect" && open() > 2 ? { reply: "421 4.7.0 Too many connections", after: "close" } : undefined;
  // Connections are only opened while mail is on its way.
  let batch = 0;
  await until("the cut", async () => {
    await sendMany(`cut${batch++}x`, 12);
    return ((await siteRow())?.allowance ?? 6) <= 3;
  });
  await untilSettled(world);
  const shown = await siteRow();
  assert.equal(shown!.waits, false, "a receiver that answers is not left alone");
  world.sink.script = () => undefined;
  world.sink.connections.peak = 0;
  await until("the recovery", async () => {
    await sendMany(`up${batch++}x`, 24);
    await untilSettled(world);
    return (await siteRow())?.allowance === null;
  });
  await sendMany("free", 60);
  await untilSettled(world);
  assert.ok(world.sink.connections.peak > 2, `${world.sink.connections.peak} connections after the recovery`);
});

test("a dead receiver costs one probe and then waits without being asked, while others' mail goes", async () => {
  world.dns.set("dead.test", "MX", "10 mx.dead.test");
  world.dns.set("mx.dead.test", "A", "127.0.0.77");
  const { sql } = world.database;
  const ids = await Promise.all(
    Array.from({ length: 30 }, (_, i) => accepted(world, { to: [`d${i}@dead.test`], async: true })),
  );
  await until("the first probe", async () => {
    const [row] = await sql<{ failures: number }[]>`select failures from sites where site = 'dead.test'`;
    return row !== undefined && row.failures >= 1;
  });
  // From now on it is left alone for an hour: nothing of it may be claimed.
  await sql`update sites set back_off_until = now() + interval '1 hour', updated_at = clock_timestamp() where site = 'dead.test'`;
  await until("the node to know", async () => {
    const [row] = await sql<{ leased: number }[]>`
      select count(*)::int as leased from recipients where destination = 'dead.test' and lease is not null`;
    return row!.leased === 0;
  });
  const free = await accepted(world, { to: ["free@one.test"] });
  await untilFinished(world, free);
  const [tried] = await sql<{ untried: number; attempts: number }[]>`
    select count(*) filter (where attempts = 0)::int as untried, sum(attempts)::int as attempts from recipients where destination = 'dead.test'`;
  assert.ok(tried!.untried >= 20, `${tried!.untried} of 30 were never claimed, ${tried!.attempts} attempts`);
  // What DNS said is shared with the next look at the store; until that look one more may have been tried.
  const shown = await until("the site to be known", async () => {
    const { body } = await world.call("QueueService/ListDestinations", { search: "dead.test" });
    const [one] = body.data as { state: string; queued: number; failures: number; mxSite: string }[];
    return one!.mxSite === "dead.test" && one!.queued === 30 ? one : undefined;
  });
  assert.equal(shown.state, "DESTINATION_STATE_BACKING_OFF");
  const waited = async () => {
    const text = await (await fetch(`${world.program.opsUrl}/metrics`)).text();
    return Number(/^posthorn_queue_oldest_backing_off_seconds (\S+)$/m.exec(text)?.[1]);
  };
  await until("an age in the metrics", async () => (await waited()) > 0);
  // It comes back; RetryDestination brings the next probe forward, and one success lets the rest go.
  world.dns.set("mx.dead.test", "A", "127.0.0.1");
  await sql`update recipients set due_at = now() where status = 'delayed'`;
  await until(
    "the queue to drain",
    async () => {
      await world.call("QueueService/RetryDestination", { destination: "dead.test" });
      const [row] = await sql<{ open: number }[]>`select count(*)::int as open from emails where open > 0`;
      return row!.open === 0;
    },
    // The address of the server is believed for as long as DNS said.
    { everyMs: 300 },
  );
  await until("no age in the metrics", async () => (await waited()) === 0);
  for (const id of ids.slice(0, 3)) assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
});
