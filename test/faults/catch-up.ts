/** The fault of stream readers that catch up: many resume at once from the start of a long log. Unary calls of all workspaces must stay
 * fast, and the program must give the memory back. */
import { setTimeout as delay } from "node:timers/promises";
import { addLog, catchUpForms, startCatchUpReaders } from "../harness/catch-up-readers.ts";
import type { Load } from "../harness/ledger.ts";
import { memoryMiB } from "../harness/process-stats.ts";
import { accepted } from "../harness/sending.ts";
import { readStream } from "../harness/streams.ts";
import type { Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { Fault } from "./fault.ts";

const events = 5000;
const measuredCalls = 100;

export const catchUps: Fault[] = [
  {
    name: "streams: 1,000 readers catch up at once",
    promise:
      "SendEmail and ListDomains stay as fast as before (p99 within 2×); memory falls back; each reader gets the log",
    times: 1000,
    inject: catchUp,
  },
];

/** Smaller differences are noise of the machine. */
const graceMs = 50;
/** How much larger the program may stay: the heap that V8 keeps for its next burst. */
const keptMiB = 100;
const fallsBackWithinMs = 60_000;

async function catchUp(readerCount: number, progress: Progress): Promise<Findings> {
  let note = "";
  const found = await underLoad({ load: { senders: 1, pauseMs: 200 } }, async ({ testbed, load, ...run }) => {
    const { url, pid } = testbed.program;
    progress(`adding ${events} events`);
    const key = await addLog(testbed.database.sql, events);
    const forms = await catchUpForms(url, key);
    const log = await readStream(url, { key, request: { cursor: "0", follow: false } });
    const dense = log.events.length === events && log.events.every(({ cursor }, i) => cursor === String(i + 1));
    await measureCalls(testbed, load, "warm", () => false);
    const before = await measureCalls(testbed, load, "before", () => false);
    const beforeMiB = memoryMiB(pid).now;
    let during = before;
    let peakMiB = 0;
    let wrong: string[] = [];
    const began = performance.now();
    await run.injectFault(async () => {
      const readers = await startCatchUpReaders({ url, key, readers: readerCount, forms });
      run.cleanUp(readers.stop);
      progress(`${readerCount} readers`);
      during = await measureCalls(testbed, load, "during", () => readers.behind() > 0 && readers.wrong().length === 0);
      await readers.untilCaughtUp();
      progress(`all readers have caught up after ${Math.round((performance.now() - began) / 1000)} s`);
      peakMiB = memoryMiB(pid).peak;
      wrong = readers.wrong();
      await readers.stop();
    });
    const fellBack = () => memoryMiB(pid).now <= beforeMiB + keptMiB;
    await until("the memory to fall back", fellBack, { withinMs: fallsBackWithinMs }).catch(() => {});
    // Let V8 return what it returns without pressure, for the number in the note.
    await delay(10_000);
    const afterMiB = memoryMiB(pid).now;
    const change = (name: keyof Times) => `${name} p99 ${show(before[name].p99)} → ${show(during[name].p99)} ms`;
    note = `${change("SendEmail")}, ${change("ListDomains")} (${during.SendEmail.count} calls each), memory ${[beforeMiB, peakMiB, afterMiB].map(show).join(" → ")} MiB`;
    progress(note);
    const slow = (["SendEmail", "ListDomains"] as const).filter(
      (name) => during[name].p99 > 2 * before[name].p99 + graceMs,
    );
    run.whenSettled(() => [
      ...wrong,
      ...(dense ? [] : ["the log of a single reader is not 1, 2, 3 … n"]),
      ...slow.map((name) => `${name} is slower than twice its idle p99: ${note}`),
      ...(afterMiB > beforeMiB + keptMiB ? [`memory did not fall back: ${note}`] : []),
    ]);
  });
  return { ...found, injected: readerCount, note };
}

const show = (value: number) => Math.round(value).toLocaleString("en");

type Times = Record<"SendEmail" | "ListDomains", { p99: number; count: number }>;

/** Makes both calls one after the other, `measuredCalls` times and then for as long as the readers are behind. */
async function measureCalls(testbed: Testbed, load: Load, name: string, goesOn: () => boolean): Promise<Times> {
  const sends: number[] = [];
  const lists: number[] = [];
  for (let i = 0; i < measuredCalls || goesOn(); i++) {
    const to = [`${name}${i}@other.test`];
    const sentAtMs = performance.now();
    load.ledger.set(to[0]!, { id: await accepted(testbed, { to, async: false }), to, sentAtMs });
    const listedAtMs = performance.now();
    const { status } = await testbed.call("DomainService/ListDomains", {});
    if (status !== 200) throw new Error(`ListDomains: ${status}`);
    sends.push(listedAtMs - sentAtMs);
    lists.push(performance.now() - listedAtMs);
  }
  return { SendEmail: p99Of(sends), ListDomains: p99Of(lists) };
}

function p99Of(times: number[]): { p99: number; count: number } {
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)]!, count: times.length };
}
