/** What fresh mail notices of others: a slow site, a dead one, a flood, a million rows. node bench/queue.ts [--json]; BENCH_SCALE=0.1 for a
 * tenth of the rows. */
import { makeUuid } from "../src/store/ids.ts";
import { createWorkspace } from "../src/store/workspaces.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { until } from "../test/harness/wait.ts";
import { addSendingDomain, senderDomain } from "../test/harness/world.ts";
import { emptyQueue, fillQueue } from "./lib/backlog.ts";
import { startCounted } from "./lib/counted.ts";
import { sendFresh } from "./lib/fresh.ts";
import { runLoad } from "./lib/load.ts";
import { type Bench, type Row, runAlone } from "./lib/report.ts";
import { callHeaders, type Stage, sendBody, setStage } from "./lib/stage.ts";

const scale = Number(process.env.BENCH_SCALE ?? 1);
const throughputEmails = 2000;

export const benchQueue: Bench = async (say) => {
  const stage = await setStage();
  const { sql } = stage;
  const slow = await startCounted("sink.ts", ["127.0.0.2", String(stage.sinkPort), "400"]);
  for (const name of ["fresh.test", "there.test", "flood.test"]) stage.mailDomain(name);
  stage.mailDomain("slow.test", "127.0.0.2");
  // Nobody listens there.
  stage.mailDomain("dead.test", "127.0.0.3");
  const node = await stage.start();
  const [first] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const ours = first!.value;
  const theirs = makeUuid(Date.now());
  await createWorkspace(sql, { id: theirs, name: "Theirs" });
  await addSendingDomain(sql, theirs, senderDomain);
  const rows: Row[] = [];

  const beside = async (what: string, fill: () => Promise<void>, empty: { p50: number; p99: number }) => {
    await emptyQueue(sql);
    say(`${what} …`);
    await fill();
    const fresh = await sendFresh(node);
    rows.push(
      {
        what: `fresh mail, p50, ${what}`,
        value: fresh.p50,
        unit: "ms",
        beside: { what: "empty queue", value: empty.p50 },
      },
      {
        what: `fresh mail, p99, ${what}`,
        value: fresh.p99,
        unit: "ms",
        beside: { what: "empty queue", value: empty.p99 },
      },
    );
  };

  say("warming up …");
  await sendFresh(node, 100);
  say("fresh mail, empty queue …");
  const empty = await sendFresh(node);
  const slowRows = 5000 * scale;
  await beside(`${slowRows} rows to a slow site`, () => fill("slow.test", slowRows, 1), empty);
  const deadRows = 100_000 * scale;
  await beside(`${deadRows} rows to a dead site`, () => fill("dead.test", deadRows, 1), empty);
  const floodRows = 20_000;
  await beside(`a workspace flooding (${floodRows} due)`, () => fill("flood.test", floodRows, 1, true), empty);

  await emptyQueue(sql);
  say("delivering with an empty queue …");
  const alone = await deliver(node, stage, ours);
  const queued = 1_000_000 * scale;
  say(`filling ${queued} rows …`);
  await emptyQueue(sql);
  await fill("many.test", queued, 1000, false, 7200);
  await beside2(queued);

  await node.remove();
  slow.stop();
  await stage.clear();
  return rows;

  async function fill(
    name: string,
    count: number,
    destinations: number,
    content = name === "slow.test",
    dueInSeconds = 0,
  ) {
    await fillQueue(sql, {
      ...{ workspaceId: theirs, count, dueInSeconds, content },
      destinations: { name, count: destinations },
    });
    // What so many rows at once leave to be done is not what is measured.
    await sql.unsafe("vacuum (analyze) emails, recipients, email_contents");
    await sql.unsafe("checkpoint");
  }
  async function beside2(count: number): Promise<void> {
    say("delivering beside them …");
    const loaded = await deliver(node, stage, ours);
    rows.push({
      ...{ what: `delivered with ${count} rows queued`, value: loaded, unit: "/s" },
      beside: { what: "empty queue", value: alone },
    });
    const fresh = await sendFresh(node);
    rows.push({
      ...{ what: `fresh mail, p99, ${count} rows queued`, value: fresh.p99, unit: "ms" },
      beside: { what: "empty queue", value: empty.p99 },
    });
  }
};

async function deliver(node: RunningProgram, stage: Stage, workspaceId: string): Promise<number> {
  const settled = async () =>
    Number(
      (await stage.sql<{ last: string }[]>`select last from event_counters where workspace_id = ${workspaceId}`)[0]!
        .last,
    );
  const before = await settled();
  const began = performance.now();
  const load = { url: node.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections: 16 };
  const { failures } = await runLoad({
    ...load,
    count: throughputEmails,
    body: (i) => sendBody(`user${i}@there.test`),
  });
  if (failures.length > 0) throw new Error(`not accepted: ${failures[0]}`);
  await until("every email to be settled", async () => (await settled()) >= before + throughputEmails, {
    ...{ withinMs: 60_000, everyMs: 20 },
  });
  return throughputEmails / ((performance.now() - began) / 1000);
}

if (import.meta.main) await runAlone(benchQueue);
