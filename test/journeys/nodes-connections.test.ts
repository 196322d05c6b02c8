/** The connection budget of docs/operate.md: POSTHORN_DATABASE_POOL and one more for each node, under load as at rest. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cluster, nodeNames, startCluster, watchSessions } from "../harness/cluster.ts";
import { reckon, startLoad, untilSettled } from "../harness/ledger.ts";
import { startReader } from "../harness/stream-readers.ts";
import { until } from "../harness/wait.ts";

const pool = 4;
let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ env: { POSTHORN_DATABASE_POOL: String(pool) } });
});
after(async () => await cluster?.stop());

test("no node holds more than its pool and one session, whatever is asked of it", async () => {
  const watch = watchSessions(cluster);
  const reader = startReader({ url: () => cluster.nextUrl(), key: cluster.program.key }, { messages: 50 });
  const load = startLoad(cluster, { name: "c", senders: 24, pauseMs: 150 });
  await load.untilAcknowledged(96);
  assert.equal(await cluster.node("c").stop(), 0);
  await cluster.restart("c");
  await load.untilAcknowledged(24);
  await load.stop();
  await untilSettled(cluster);
  await reader.stop();
  await watch.stop();
  await reckon(cluster, load.ledger);
  for (const name of nodeNames) {
    const peak = watch.peaks.get(cluster.sessionName(name))!;
    assert.ok(peak <= pool + 1, `node ${name} had ${peak} sessions`);
  }
  assert.equal(watch.peaks.get("posthorn"), pool + 1, "the node that took the calls used what it has");
});

test("the metric of a node counts its own sessions, not those of others", async () => {
  await until("figures of both", async () => {
    const texts = await Promise.all(
      (["a", "b"] as const).map(async (name) => await (await fetch(`${cluster.node(name).opsUrl}/metrics`)).text()),
    );
    return texts.every((text) => {
      const open = Number(/^posthorn_database_connections\{state="open"\} (\d+)/m.exec(text)?.[1]);
      return open >= 1 && open <= pool;
    });
  });
});
