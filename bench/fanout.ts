/** Events to 1,000 live streams of one workspace, compared with a process that writes the same bytes to 1,000 sockets and does nothing else.
 * npm run bench -- fanout; --scale 0.3 for fewer events. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { silentLog } from "../src/ops/log.ts";
import { createWake } from "../src/postgres/wake.ts";
import { addManyEvents } from "../test/harness/webhooks.ts";
import { withChildrenMs } from "./lib/cost.ts";
import { type CountingProcess, startCountingProcess } from "./lib/counting-process.ts";
import { benchKey, residentMiB, startEnvironment } from "./lib/environment.ts";
import { percentiles } from "./lib/latency.ts";
import type { Bench } from "./lib/report.ts";
import { quick, scale } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";
import { steady } from "./lib/steady.ts";

const streams = 1000;
/** As many events as a busy node settles in one statement. */
const perCommit = 20;
/** Events that are committed and that some reader has not received. More would leave the newest events that the program keeps in memory. */
const underway = 200;
const atMost = Math.round((quick ? 600 : 2000) * scale);
const steadyCommits = Math.round((quick ? 20 : 50) * scale);
const steadyPerSecond = 10;

export const benchFanout: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  const node = await environment.start({ POSTHORN_ROLES: "api" });
  const wake = createWake({ sql, log: silentLog() });
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = row!.value;
  progress(`opening ${streams} streams …`);
  const before = await residentMiB(node.pid);
  const ours: Side = {
    pid: node.pid,
    readers: await startReaders(Number(new URL(node.url).port)),
    // The bench acts as another node: it commits events and sends the wake-up.
    async write(events) {
      await addManyEvents(sql, workspaceId, events, "email.delivered");
      wake.notify("events");
      return performance.now();
    },
  };
  await writeAtMost(ours, 400);
  const plainServer = await startPlain((await ours.readers.counts()).lastBody!);
  let batch = 1;
  const plain: Side = {
    pid: plainServer.process.pid!,
    readers: await startReaders(plainServer.port),
    async write(events) {
      const began = performance.now();
      const written = once(plainServer.process, "message");
      plainServer.process.send({ events, atOnce: batch });
      await written;
      return began;
    },
  };
  const toReaders = `events to ${streams} live streams`;
  progress(`${atMost} events to ${streams} readers: warming up …`);
  await writeAtMost(ours, Math.min(atMost, 1000));
  await writeAtMost(plain, Math.min(atMost, 1000));
  progress(`${atMost} events to ${streams} readers, and plain writes …`);
  const throughput = await steady(progress, async () => {
    const { result: program, shares } = await measured({ environment, node }, () => writeAtMost(ours, atMost));
    batch = 1;
    const single = await writeAtMost(plain, atMost);
    batch = perCommit;
    const batched = await writeAtMost(plain, atMost);
    const row = { what: `${toReaders}, events × readers`, value: program, unit: "/s", shares };
    return [
      {
        ...row,
        baseline: { what: "plain writes to as many sockets, one for each event", value: single },
        least: 0.4,
      },
      { ...row, baseline: { what: `plain writes of ${perCommit} events`, value: batched } },
    ];
  });
  const memory = await residentMiB(node.pid);
  progress(`${steadyCommits} commits of one event, ${steadyPerSecond} a second …`);
  const slowly = await writeSteadily(ours);
  batch = 1;
  const plainSteady = await writeSteadily(plain);
  ours.readers.stop();
  plain.readers.stop();
  plainServer.process.disconnect();
  await wake.stop();
  await node.remove();
  await environment.stop();
  return [
    ...throughput,
    {
      what: `${toReaders}, one at a time, CPU per event and reader`,
      value: slowly.cpuMicros,
      unit: "µs",
      baseline: { what: "plain writes", value: plainSteady.cpuMicros },
    },
    {
      what: `${toReaders}, one at a time, commit to the last reader, p50`,
      value: slowly.p50,
      unit: "ms",
      baseline: { what: "plain writes", value: plainSteady.p50 },
    },
    {
      what: `${toReaders}, resident memory per stream after it all`,
      value: ((memory - before) * 1024) / streams,
      unit: "KiB",
    },
  ];
};

type Side = {
  pid: number;
  readers: CountingProcess;
  /** Resolves when the events are committed or written, with the time from which they are on their way. */
  write(events: number): Promise<number>;
};

function startReaders(port: number): Promise<CountingProcess> {
  return startCountingProcess("stream-readers.ts", [String(port), benchKey, String(streams)]);
}

async function startPlain(message: string): Promise<{ process: ChildProcess; port: number }> {
  const text = message.replace(/"cursor":"\d+"/, '"cursor":":NUMBER:"');
  const child = fork(fileURLToPath(new URL("./lib/plain-fanout.ts", import.meta.url)), [text]);
  return { process: child, port: Number((await once(child, "message"))[0]) };
}

/** Events × readers per second, with a limited number of events underway. */
async function writeAtMost({ readers, write }: Side, events: number): Promise<number> {
  const before = (await readers.counts()).received;
  const received = async () => ((await readers.counts()).received - before) / streams;
  const began = performance.now();
  let arrived = 0;
  for (let written = 0; written < events; written += perCommit) {
    while (written + perCommit - arrived > underway) {
      await delay(2);
      arrived = await received();
    }
    await write(perCommit);
  }
  await arrival(readers, before + events * streams);
  return (events * streams) / ((performance.now() - began) / 1000);
}

/** The times from a commit until all readers have its event. */
async function writeSteadily({ pid, readers, write }: Side): Promise<{ p50: number; cpuMicros: number }> {
  const times: number[] = [];
  const cpuBefore = withChildrenMs(pid);
  let { received } = await readers.counts();
  for (let i = 0; i < steadyCommits; i++) {
    const next = delay(1000 / steadyPerSecond);
    const began = await write(1);
    received += streams;
    await arrival(readers, received);
    times.push(performance.now() - began);
    await next;
  }
  const cpuMicros = (1000 * (withChildrenMs(pid) - cpuBefore)) / (steadyCommits * streams);
  return { p50: percentiles(times).p50, cpuMicros };
}

/** Each reader checks the order, so the count shows that every reader has received every event. */
async function arrival(readers: CountingProcess, count: number): Promise<void> {
  const until = performance.now() + 60_000;
  for (;;) {
    const { received } = await readers.counts();
    if (received === count) return;
    if (received > count) throw new Error(`the readers received ${received - count} events too many`);
    if (performance.now() > until) throw new Error(`the readers miss ${count - received} events`);
    await delay(1);
  }
}
