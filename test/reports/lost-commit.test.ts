/** A report whose commit meets a lost connection or a killed program: the reporter repeats it, and it counts once. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../harness/database-proxy.ts";
import { holdLock } from "../harness/held-lock.ts";
import { type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { addReporter, deliverReport, dmarcXml, reportAddressOf } from "../harness/reports.ts";
import { until } from "../harness/wait.ts";

let testbed: InboundTestbed;
let proxy: DatabaseProxy;
let address: string;
before(async () => {
  testbed = await startInboundTestbed({
    async reachDatabase(url) {
      proxy = await startDatabaseProxy(url);
      return proxy.url;
    },
  });
  addReporter(testbed.dns, "reporter.test");
  address = await reportAddressOf(testbed);
});
after(async () => {
  await testbed.stop();
  await proxy.close();
});

const xmlOf = (id: string) => dmarcXml({ id: `report ${id}`, rows: [{ ip: "192.0.2.1", count: 5, dkim: "fail" }] });

/** The commit that follows the insert of this report meets its fate. */
function commitOf(id: string, fate: Fate): () => boolean {
  const carriers = new WeakSet<object>();
  let met = false;
  proxy.fateOf((text, connection) => {
    if (text.includes(`report ${id}`)) carriers.add(connection);
    if (met || !carriers.has(connection) || !/\bcommit\b/i.test(text)) return "forward";
    met = true;
    return fate;
  });
  return () => met;
}

async function countsOf(id: string): Promise<[reports: number, messages: number]> {
  const [row] = await testbed.database.sql<{ reports: number; messages: number }[]>`
    select (select count(*)::int from reports where report_id = ${`report ${id}`}) as reports,
      (select coalesce(sum(messages), 0)::int from dmarc_counts) as messages`;
  return [row!.reports, row!.messages];
}

test("a commit that is lost on its way is repeated, and counts once", async () => {
  const met = commitOf("lost", "lose");
  await assert.rejects(deliverReport(testbed, { text: xmlOf("lost"), to: address }), /451/);
  assert.equal(met(), true);
  assert.deepEqual(await countsOf("lost"), [0, 0]);
  assert.match(await deliverReport(testbed, { text: xmlOf("lost"), to: address }), /^250/);
  assert.deepEqual(await countsOf("lost"), [1, 5]);
});

test("a commit whose answer is lost is not counted again", async () => {
  const met = commitOf("answer", "lose answer");
  await deliverReport(testbed, { text: xmlOf("answer"), to: address }).catch(() => "451");
  assert.equal(met(), true);
  assert.match(await deliverReport(testbed, { text: xmlOf("answer"), to: address }), /^250/);
  assert.deepEqual(await countsOf("answer"), [1, 10]);
});

test("a program that is killed before the commit leaves nothing, and its successor stores the report once", async () => {
  const lock = await holdLock(testbed.database.url, "lock table reports in share mode");
  const sending = deliverReport(testbed, { text: xmlOf("killed"), to: address }).catch(() => "lost");
  await until("the report waits for the lock", async () => {
    const rows = await testbed.database.sql`
      select 1 from pg_locks l join pg_class c on c.oid = l.relation where c.relname = 'reports' and not l.granted`;
    return rows.length > 0 || undefined;
  });
  await testbed.program.kill();
  assert.equal(await sending, "lost");
  await lock.release();
  const successor = await testbed.restartNode(testbed.program);
  assert.deepEqual(await countsOf("killed"), [0, 10]);
  testbed.smtpPort = successor.ports.smtp!;
  assert.match(await deliverReport(testbed, { text: xmlOf("killed"), to: address }), /^250/);
  assert.deepEqual(await countsOf("killed"), [1, 15]);
});
