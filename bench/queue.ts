/** Latency of new mail next to a slow site, a dead site, a flooding workspace and a million queued rows, compared with an empty queue.
 * npm run bench -- queue; --scale 0.1 for a tenth of the rows. */
import { makeUuid } from "../src/postgres/ids.ts";
import { createWorkspace } from "../src/workspaces/store.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { addSendingDomain, senderDomain } from "../test/harness/testbed.ts";
import { until } from "../test/harness/wait.ts";
import { emptyQueue, fillQueue } from "./lib/backlog.ts";
import { startCountingProcess } from "./lib/counting-process.ts";
import { callHeaders, type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { measureLatency } from "./lib/latency.ts";
import { runLoad } from "./lib/load.ts";
import type { Bench, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";

const throughputEmails = 2000;

export const benchQueue: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  const slow = await startCountingProcess("sink.ts", ["127.0.0.2", String(environment.sinkPort), "400"]);
  for (const name of ["new.test", "there.test", "flood.test"]) environment.mailDomain(name);
  environment.mailDomain("slow.test", "127.0.0.2");
  // No server listens on this address.
  environment.mailDomain("dead.test", "127.0.0.3");
  const node = await environment.start();
  const [first] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const ours = first!.value;
  const theirs = makeUuid(Date.now());
  await createWorkspace(sql, { id: theirs, name: "Theirs" });
  await addSendingDomain(sql, theirs, senderDomain);
  const rows: Row[] = [];

  const measureDuring = async (what: string, fill: () => Promise<void>, empty: { p50: number; p99: number }) => {
    await emptyQueue(sql);
    progress(`${what} …`);
    await fill();
    const latency = await measureLatency(node);
    rows.push(
      {
        what: `new mail, p50, ${what}`,
        value: latency.p50,
        unit: "ms",
        baseline: { what: "empty queue", value: empty.p50 },
      },
      {
        what: `new mail, p99, ${what}`,
        value: latency.p99,
        unit: "ms",
        baseline: { what: "empty queue", value: empty.p99 },
      },
    );
  };

  progress("warming up …");
  await measureLatency(node, 100);
  progress("new mail, empty queue …");
  const empty = await measureLatency(node);
  const slowRows = 5000 * scale;
  await measureDuring(`${slowRows} rows to a slow site`, () => fill("slow.test", slowRows, 1), empty);
  const deadRows = 100_000 * scale;
  await measureDuring(`${deadRows} rows to a dead site`, () => fill("dead.test", deadRows, 1), empty);
  const floodRows = 20_000;
  await measureDuring(`a workspace flooding (${floodRows} due)`, () => fill("flood.test", floodRows, 1, true), empty);

  await emptyQueue(sql);
  progress("delivering with an empty queue …");
  const alone = await deliver(node, environment, ours);
  const queued = 1_000_000 * scale;
  progress(`filling ${queued} rows …`);
  await emptyQueue(sql);
  await fill("many.test", queued, 1000, false, 7200);
  await measureWithBacklog(queued);

  await node.remove();
  slow.stop();
  await environment.stop();
  return rows;

  async function fill(
    name: string,
    count: number,
    destinations: number,
    content = name === "slow.test",
    dueInSeconds = 0,
  ) {
    await fillQueue(sql, {
      workspaceId: theirs,
      count,
      dueInSeconds,
      content,
      destinations: { name, count: destinations },
    });
    // Vacuum and checkpoint now, so that the work after a bulk insert is not measured.
    await sql.unsafe("vacuum (analyze) emails, recipients, email_contents");
    await sql.unsafe("checkpoint");
  }
  async function measureWithBacklog(count: number): Promise<void> {
    progress("delivering with the backlog …");
    const loaded = await deliver(node, environment, ours);
    rows.push({
      what: `delivered with ${count} rows queued`,
      value: loaded,
      unit: "/s",
      baseline: { what: "empty queue", value: alone },
    });
    const latency = await measureLatency(node);
    rows.push({
      what: `new mail, p99, ${count} rows queued`,
      value: latency.p99,
      unit: "ms",
      baseline: { what: "empty queue", value: empty.p99 },
    });
  }
};

async function deliver(node: RunningProgram, environment: Environment, workspaceId: string): Promise<number> {
  const settled = async () =>
    Number(
      (
        await environment.sql<{ last: string }[]>`select last from event_counters where workspace_id = ${workspaceId}`
      )[0]!.last,
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
    withinMs: 60_000,
    everyMs: 20,
  });
  return throughputEmails / ((performance.now() - began) / 1000);
}
