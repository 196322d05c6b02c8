/** Receivers that hang: other mail is delivered meanwhile, and each slow site and workspace holds a bounded number of connections. The
 * long version is npm run faults -- --only slow. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expireHeartbeat } from "../harness/kill-points.ts";
import { untilSettled } from "../harness/ledger.ts";
import { runCommand } from "../harness/program.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { type Sink, startSink } from "../harness/sink.ts";
import { on } from "../harness/sink-script.ts";
import { addSendingDomain, mailDomain, senderDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

const slowAddress = "127.0.0.4";
const slowSites = Array.from({ length: 6 }, (_, i) => `slow${i}.test`);
/** Hesitant sites get half of these, and one workspace half of that. */
const sockets = 100;
let testbed: Testbed;
let slow: Sink;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY_SOCKETS: String(sockets) } });
  const { port, deliveries } = testbed.sink;
  slow = await startSink({ host: slowAddress, port, deliveries });
  for (const name of slowSites) mailDomain(testbed.dns, name, slowAddress);
});
after(async () => {
  await slow?.close();
  await testbed?.stop();
});

/** Sends an email and waits until the healthy sink has accepted it. Returns its id. */
async function deliverTo(address: string, headers?: Record<string, string>): Promise<string> {
  const id = await accepted(testbed, { to: [address], async: true }, headers);
  await testbed.sink.until((sink) => sink.received(address).length > 0);
  return id;
}

async function sendToSlow(name: string, each: number): Promise<string[]> {
  const addresses = slowSites.flatMap((site) => Array.from({ length: each }, (_, i) => `${name}${i}@${site}`));
  return await Promise.all(addresses.map((to) => accepted(testbed, { to: [to], async: true })));
}

type Ready = {
  ready: boolean;
  delivery: {
    working: number;
    waiting: number;
    hesitant: number;
    sites: { site: string; attempts: number; stalled: boolean }[];
  };
};

async function readyz(node: { opsUrl: string }): Promise<Ready> {
  return (await (await fetch(`${node.opsUrl}/readyz`)).json()) as Ready;
}

test("known sites that hang after the dot fall to one probe, and other mail is delivered meanwhile", async () => {
  const { program, sink } = testbed;
  for (const id of await sendToSlow("prove", 2)) await untilFinished(testbed, id);
  await deliverTo("first@there.test");
  slow.script = on("dot", "silence");
  slow.hangUp();
  await sendToSlow("stuck", 20);
  await until("every slow site to hold connections", () => slow.connections.open >= slowSites.length);

  await deliverTo("known@there.test");
  mailDomain(testbed.dns, "fresh.test");
  await deliverTo("new@fresh.test");
  const stalled = await until("all slow sites to stall", async () => {
    const { delivery } = await readyz(program);
    return delivery.sites.filter((one) => one.stalled).length === slowSites.length ? delivery : undefined;
  });
  await until("a probe at each site", () => slow.connections.open >= 2 * slowSites.length);
  // The first window of four recipients, and one probe.
  assert.ok(slow.connections.open <= 5 * slowSites.length, `${slow.connections.open} connections`);
  assert.ok(stalled.hesitant >= slowSites.length && stalled.hesitant <= sockets / 2, JSON.stringify(stalled));
  await deliverTo("later@there.test");
  assert.equal(slow.accepted, 2 * slowSites.length, "the stalled sessions are still open");
  assert.equal(sink.received("known@there.test").length, 1);
});

test("metrics, doctor and the queue name the sites that do not answer", async () => {
  const { program, database, nodeEnv } = testbed;
  const metrics = await (await fetch(`${program.opsUrl}/metrics`)).text();
  assert.match(metrics, /posthorn_delivery_site_waiting_attempts\{site="slow0\.test"\} [1-9]/);
  assert.match(metrics, /posthorn_delivery_recipients\{state="hesitant"\} [1-9]/);
  const destination = await until("the stall in the queue", async () => {
    const { body } = await testbed.call("QueueService/ListDestinations", { search: "slow0.test" });
    const [first] = body.data as { stalledSince?: string; mxSite: string }[];
    return first?.stalledSince ? first : undefined;
  });
  assert.equal(destination.mxSite, "slow0.test");
  const { stdout } = await runCommand(["doctor", "--json", "--probe", "there.test"], {
    dataDir: program.dataDir,
    databaseUrl: database.url,
    env: nodeEnv,
  });
  const queue = await runCommand(["queue"], { dataDir: program.dataDir, databaseUrl: database.url, env: nodeEnv });
  assert.match(queue.stdout, /slow0\.test +slow0\.test +no answer since 20/);
  assert.match(stdout, /"receivers","result":"warn","found":"slow0\.test has not answered since/);
});

test("after a restart known sites are still known, and stalled ones get one probe", async () => {
  await until("the known sites in the store", async () => {
    const rows = await testbed.database.sql<{ n: number }[]>`
      select count(*)::int as n from sites where answered_at is not null and usual_ms is not null`;
    return rows[0]!.n >= slowSites.length + 1;
  });
  await testbed.program.kill();
  await until("the connections of the killed node to close", () => slow.connections.open === 0);
  await expireHeartbeat(testbed, testbed.program);
  const node = await testbed.startNode();
  await deliverTo("restarted@there.test");
  await until("a probe at each site", () => slow.connections.open === slowSites.length);
  // A known site gets four recipients at once, an unknown one a single recipient.
  testbed.sink.hangUp();
  await until("idle connections to close", () => testbed.sink.connections.open === 0);
  testbed.sink.script = on("connect", "silence");
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => accepted(testbed, { to: [`wide${i}@there.test`], async: true })),
  );
  await until("several connections to a known site", () => testbed.sink.connections.open > 1);
  testbed.sink.script = () => undefined;
  testbed.sink.hangUp();
  slow.script = () => undefined;
  slow.hangUp();
  await untilSettled(testbed);
  await until("no stalled site", async () => (await readyz(node)).delivery.sites.every(({ stalled }) => !stalled));
});

test("a workspace with many new receivers that hang holds its share, and others reach theirs", async () => {
  const hanging = Array.from({ length: sockets }, (_, i) => `hang${i}.test`);
  for (const name of hanging) mailDomain(testbed.dns, name, slowAddress);
  await until("idle connections to close", () => slow.connections.open === 0);
  slow.script = on("connect", "silence");
  await Promise.all(hanging.map((name) => accepted(testbed, { to: [`x@${name}`], async: true })));
  const share = sockets / 4;
  await until("the share to be used", () => slow.connections.open >= share);

  // A known receiver still gets the mail of the same workspace.
  await deliverTo("steady@there.test");
  const key = await makeWorkspace(testbed.database.sql, "Another tenant");
  const [other] = await testbed.database.sql<{ id: string }[]>`select id from workspaces where name = 'Another tenant'`;
  await addSendingDomain(testbed.database.sql, other!.id, senderDomain);
  mailDomain(testbed.dns, "theirs.test");
  await deliverTo("new@theirs.test", { authorization: `Bearer ${key}` });
  assert.equal(slow.connections.open, share, "nothing is leased beyond the share");
  slow.script = () => undefined;
  slow.hangUp();
  await untilSettled(testbed);
});
