/** Latency of new mail next to a slow site, a dead site, a flooding workspace and a million queued rows, compared with an empty queue.
 * npm run bench -- queue; --scale 0.1 for a tenth of the rows. */
import { makeUuid } from "../src/postgres/ids.ts";
import { createWorkspace } from "../src/workspaces/store.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { addSendingDomain, senderDomain } from "../test/harness/testbed.ts";
import { until } from "../test/harness/wait.ts";
import { emptyQueue, fillQueue } from "./lib/backlog.ts";
import { startCountingProcess } from "./lib/counting-process.ts";
import { deliverAll } from "./lib/deliver.ts";
import { type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { latencies, median, percentiles } from "./lib/latency.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";
import { quick, scale } from "./lib/scale.ts";
import { meanShares, measured, type Shares } from "./lib/shares.ts";

/** An empty queue and a flood in turn, so that a slow moment of the machine affects both. The median of the turns counts: of 400 emails, four
 * decide the 99th percentile, and with all turns in one, a disturbance during an empty queue made the flood look better. */
const turns = quick ? 2 : 3;
const emailsPerTurn = quick ? 150 : 400;
/** With 100/s, emails wait for each other: the median with an empty queue was 60 ms. */
const perSecond = 50;
/** Emails before each measurement: all connections plan their statements again after the tables were emptied. */
const warmUp = 50;
/** More than the program can deliver in one turn. */
const floodRows = quick ? 8000 : 20_000;
const slowRows = Math.round(5000 * scale);
const deadRows = Math.round(100_000 * scale);
const queuedRows = Math.round(1_000_000 * scale);
const throughputEmails = 1500;

type Bed = { environment: Environment; node: RunningProgram; theirs: string };
type Condition = {
  what: string;
  turns: number;
  fill?: () => Promise<void>;
  destination?: string;
  most?: number;
  times: number[][];
  shares: Shares[];
};

export const benchQueue: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  const slow = await startCountingProcess("sink.ts", ["127.0.0.2", String(environment.sinkPort), "400"]);
  for (const name of ["new.test", "there.test", "flood.test"]) environment.mailDomain(name);
  environment.mailDomain("slow.test", "127.0.0.2");
  // No server listens on this address.
  environment.mailDomain("dead.test", "127.0.0.3");
  const node = await environment.start();
  const theirs = makeUuid(Date.now());
  await createWorkspace(sql, { id: theirs, name: "Theirs" });
  await addSendingDomain(sql, theirs, senderDomain);
  const bed = { environment, node, theirs };
  const rows = await measureLatencies(bed, progress);
  if (!quick) rows.push(...(await measureBacklog(bed, rows[1]!, progress)));
  // Without mail in the queue it stops at once.
  await emptyQueue(sql);
  await node.remove();
  slow.stop();
  await environment.stop();
  return rows;
};

async function measureLatencies(bed: Bed, progress: Progress): Promise<Row[]> {
  const { environment, node } = bed;
  const condition = (what: string, more: Partial<Condition> = {}): Condition => ({
    what,
    turns,
    ...more,
    times: [],
    shares: [],
  });
  const idle = condition("empty queue");
  const others = [
    condition(`another workspace floods (${floodRows.toLocaleString("en")} due)`, {
      fill: () => fill(bed, { name: "flood.test", count: floodRows, content: true }),
      destination: "flood.test",
      most: 1.5,
    }),
    ...(quick
      ? []
      : [
          condition(`${slowRows.toLocaleString("en")} rows to a slow site`, {
            fill: () => fill(bed, { name: "slow.test", count: slowRows, content: true }),
            destination: "slow.test",
            turns: 1,
          }),
          condition(`${deadRows.toLocaleString("en")} rows to a dead site`, {
            fill: () => fill(bed, { name: "dead.test", count: deadRows }),
            destination: "dead.test",
            turns: 1,
          }),
        ]),
  ];
  progress("warming up …");
  await latencies(node, { count: quick ? 100 : 200, perSecond });
  for (let turn = 1; turn <= turns; turn++) {
    progress(
      `turn ${turn} of ${turns}: ${emailsPerTurn} new emails at ${perSecond}/s with an empty queue and next to other mail …`,
    );
    for (const { fill, destination, times, shares } of [idle, ...others].filter((one) => turn <= one.turns)) {
      await emptyQueue(environment.sql);
      await untilIdle(environment);
      await fill?.();
      await settleTables(environment);
      await latencies(node, { count: warmUp, perSecond });
      const now = await measured({ environment, node }, () => latencies(node, { count: emailsPerTurn, perSecond }));
      if (destination) await checkQueued(environment, destination);
      times.push(now.result);
      if (now.shares) shares.push(now.shares);
    }
  }
  return [idle, ...others].flatMap((one) => latencyRows(one, one === idle ? undefined : idle));
}

/** The medians of the turns. The spread is that of the ratios of the turns. */
function latencyRows({ what, times, shares, most }: Condition, idle: Condition | undefined): Row[] {
  return (["p50", "p99"] as const).map((name) => {
    const own = times.map((some) => percentiles(some)[name]);
    const empty = idle?.times.map((some) => percentiles(some)[name]);
    const value = median(own);
    const baseline = empty && { what: "empty queue", value: median(empty) };
    const ratios = own.map((one, turn) => one / (empty?.[turn] ?? 1));
    return {
      what: `new mail, ${name}, ${what}`,
      value,
      unit: "ms",
      ...(baseline && { baseline }),
      ...(most !== undefined && name === "p99" && { most }),
      ...(shares.length > 0 && { shares: meanShares(shares) }),
      ...(own.length > 1 && {
        runs: own.length,
        spread: (Math.max(...ratios) - Math.min(...ratios)) / 2 / (value / (baseline?.value ?? 1)),
      }),
    };
  });
}

/** Delivers with an empty queue, twice with the backlog, and with an empty queue again. */
async function measureBacklog(bed: Bed, idleP99: Row, progress: Progress): Promise<Row[]> {
  const { environment, node } = bed;
  const deliver = () =>
    deliverAll(environment, node, {
      count: throughputEmails,
      connections: 16,
      body: (i) => sendBody(`user${i}@there.test`),
    });
  await emptyQueue(environment.sql);
  await untilIdle(environment);
  progress("delivering with an empty queue …");
  const alone = [await deliver()];
  progress(`filling ${queuedRows.toLocaleString("en")} rows …`);
  await fill(bed, { name: "many.test", count: queuedRows, destinations: 1000, dueInSeconds: 7200 });
  await settleTables(environment);
  progress("delivering with the backlog …");
  const loaded = [await deliver(), await deliver()];
  const p99 = percentiles(await latencies(node, { count: emailsPerTurn, perSecond })).p99;
  await emptyQueue(environment.sql);
  await untilIdle(environment);
  progress("delivering with an empty queue again …");
  alone.push(await deliver());
  const mean = (all: { perSecond: number }[]) => (all[0]!.perSecond + all[1]!.perSecond) / 2;
  const ratios = loaded.map(({ perSecond }, i) => perSecond / alone[i]!.perSecond);
  const rows = queuedRows.toLocaleString("en");
  return [
    {
      what: `delivered with ${rows} rows queued`,
      value: mean(loaded),
      unit: "/s",
      baseline: { what: "empty queue", value: mean(alone) },
      shares: loaded[0]!.shares,
      runs: 2,
      spread: Math.abs(ratios[0]! - ratios[1]!) / 2 / (mean(loaded) / mean(alone)),
    },
    {
      what: `new mail, p99, ${rows} rows queued`,
      value: p99,
      unit: "ms",
      baseline: { what: "empty queue", value: idleP99.value },
    },
  ];
}

type Fill = { name: string; count: number; destinations?: number; content?: boolean; dueInSeconds?: number };

async function fill({ environment, theirs }: Bed, filled: Fill): Promise<void> {
  const { name, count, destinations = 1, content = false, dueInSeconds = 0 } = filled;
  await fillQueue(environment.sql, {
    workspaceId: theirs,
    count,
    dueInSeconds,
    content,
    destinations: { name, count: destinations },
  });
}

/** Vacuum and checkpoint now, so that the work after a bulk insert or a truncate is not measured. */
async function settleTables({ sql }: Environment): Promise<void> {
  await sql.unsafe("vacuum (analyze) emails, recipients, email_contents");
  await sql.unsafe("checkpoint");
}

/** Attempts that run while the queue is emptied end before the next measurement. */
async function untilIdle(environment: Environment): Promise<void> {
  let before = -1;
  await until(
    "deliveries of the last measurement to end",
    async () => {
      const now = await environment.received();
      const same = now === before;
      before = now;
      return same;
    },
    { everyMs: 300 },
  );
}

/** A measurement next to other mail counts only if there was other mail until its end. */
async function checkQueued({ sql }: Environment, destination: string): Promise<void> {
  const left =
    await sql`select 1 from recipients where destination = ${destination} and status in ('queued', 'delayed') limit 1`;
  if (left.length === 0) throw new Error(`all rows to ${destination} were delivered before the measurement ended`);
}
