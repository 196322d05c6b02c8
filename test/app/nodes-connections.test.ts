/** The connection budget of docs/operate.md: each node uses at most POSTHORN_DATABASE_POOL connections plus one, also under load. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Cluster, nodeNames, startCluster, watchSessions } from "../harness/cluster.ts";
import { assertAudit, startLoad, untilSettled } from "../harness/ledger.ts";
import { startReader } from "../harness/stream-readers.ts";
import { until } from "../harness/wait.ts";

const pool = 4;
let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ env: { POSTHORN_DATABASE_POOL: String(pool) } });
});
after(async () => await cluster?.stop());

test("no node has more sessions than its pool plus one, under any load", async () => {
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
  await assertAudit(cluster, load.ledger);
  for (const name of nodeNames) {
    const peak = watch.peaks.get(cluster.sessionName(name))!;
    assert.ok(peak <= pool + 1, `node ${name} had ${peak} sessions`);
  }
  assert.equal(watch.peaks.get("posthorn"), pool + 1, "the node that served the calls used its whole pool");
});

test("the metric of a node counts only its own sessions", async () => {
  await until("the metrics of both nodes", async () => {
    const texts = await Promise.all(
      (["a", "b"] as const).map(async (name) => await (await fetch(`${cluster.node(name).opsUrl}/metrics`)).text()),
    );
    return texts.every((text) => {
      const open = Number(/^posthorn_database_connections\{state="open"\} (\d+)/m.exec(text)?.[1]);
      return open >= 1 && open <= pool;
    });
  });
});
