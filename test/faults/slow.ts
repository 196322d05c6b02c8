/** Faults of slow receivers: sites that hang in every phase, or answer one byte a second. Mail to healthy receivers, known or new, must
 * not be delayed, before and after a kill of the program. */
import { setTimeout as delay } from "node:timers/promises";
import { expireHeartbeat } from "../harness/kill-points.ts";
import { accepted } from "../harness/sending.ts";
import { type Sink, startSink, testCertificate } from "../harness/sink.ts";
import { type Action, on, type Script } from "../harness/sink-script.ts";
import { addSendingDomain, mailDomain, senderDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { type FaultRun, type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";
import type { Fault } from "./fault.ts";

type Slowness = {
  name: string;
  sites: number;
  /** Whether the sites accept mail before they become slow. */
  proven: boolean;
  emailsPerSite: number;
  script: Script;
  /** Whose healthy mail is measured: that of the tenant with the slow receivers, or that of another tenant. */
  measured: "same tenant" | "another tenant";
};

const slowAddress = "127.0.0.4";
const measuredEmails = 100;
/** Emails to each site that prove it before it becomes slow. */
const provingEmails = 8;
/** A measured email that takes longer counts as this long. */
const measureLimitMs = 60_000;
/** Smaller differences are noise of the machine. */
const graceMs = 50;
const senders = 4;
/** Between two emails of a sender during the measurement, so that accepting this mail is not itself the load that is measured. */
const pacedMs = 50;

const drip: Action = { dripMs: 1000 };
const phases = { "at the banner": "connect", "at EHLO": "ehlo", "at STARTTLS": "starttls", "after DATA": "data" };

const slownesses: Slowness[] = [
  ...[6, 12, 45].map((sites) => proven(`${sites} proven sites hang after the dot`, sites, on("dot", "silence"))),
  proven("45 proven sites answer one byte a second", 45, () => drip),
  ...Object.entries(phases).map(([where, verb]) =>
    unknown(`200 unknown sites hang ${where}`, 200, on(verb, "silence")),
  ),
  unknown("200 unknown sites answer one byte a second", 200, () => drip),
  {
    ...proven("450 proven sites hang after the dot, mail of another tenant", 450, on("dot", "silence")),
    emailsPerSite: 10,
    measured: "another tenant",
  },
  {
    ...unknown("2,000 unknown sites hang at the banner, mail of another tenant", 2000, on("connect", "silence")),
    emailsPerSite: 2,
    measured: "another tenant",
  },
];

function proven(name: string, sites: number, script: Script): Slowness {
  return { name: `slow: ${name}`, sites, proven: true, emailsPerSite: 100, script, measured: "same tenant" };
}

function unknown(name: string, sites: number, script: Script): Slowness {
  return { ...proven(name, sites, script), proven: false, emailsPerSite: 5 };
}

export const slowReceivers: Fault[] = slownesses.map((one) => ({
  name: one.name,
  promise: "mail to healthy receivers, known or new, has a p99 within 2× of idle, also after a kill and a restart",
  times: 1,
  inject: (_times, progress) => injectSlowness(one, progress),
}));

async function injectSlowness(one: Slowness, progress: Progress): Promise<Findings> {
  let note = "";
  const start = () => startTestbed({ sink: { tls: testCertificate() } });
  const found = await underLoad({ start, load: { senders: 1, pauseMs: 200 } }, async (run) => {
    const { testbed, injectFault, whenSettled, cleanUp } = run;
    const { port, deliveries } = testbed.sink;
    const slowSink = await startSink({ host: slowAddress, port, tls: testCertificate(), deliveries });
    cleanUp(() => slowSink.close());
    const tenant = await tenantOf(run, one);
    for (let i = 0; i < one.sites; i++) mailDomain(testbed.dns, siteName(i), slowAddress);
    if (one.proven) await prove(run, one, slowSink);
    await measure(tenant, "warm", 30);
    const idle = await measure(tenant, "idle", measuredEmails);
    progress(`idle: ${show(idle)}`);
    let during = idle;
    let after = idle;
    await injectFault(
      async () => {
        slowSink.script = one.script;
        let pauseMs = pacedMs;
        const sending = sendToSlow(run, one, { name: "stuck", each: one.emailsPerSite, pauseMs: () => pauseMs });
        await until("connections at the slow sites", () => slowSink.connections.open >= Math.min(one.sites, 50));
        during = await measure(tenant, "during", measuredEmails);
        progress(`during: ${show(during)}; ${slowSink.connections.open} connections at slow sites`);
        pauseMs = 0;
        await sending;
        await testbed.program.kill();
        await expireHeartbeat(testbed, testbed.program);
        await testbed.startNode();
        after = await measure(tenant, "after", measuredEmails);
        progress(`after a restart: ${show(after)}; ${slowSink.connections.open} connections at slow sites`);
      },
      async () => {
        slowSink.script = () => undefined;
        slowSink.hangUp();
      },
    );
    note = `idle ${show(idle)}; during ${show(during)}; after a restart ${show(after)}; peak ${slowSink.connections.peak} connections`;
    whenSettled(() => ([during, after].some((measured) => isSlower(measured, idle)) ? [note] : []));
  });
  return { ...found, note };
}

const siteName = (i: number) => `slow${i}.test`;

async function prove(run: FaultRun, one: Slowness, slowSink: Sink): Promise<void> {
  await sendToSlow(run, one, { name: "prove", each: provingEmails, pauseMs: () => 0 });
  await until("the proving mail", () => slowSink.accepted >= one.sites * provingEmails);
  await until("idle connections to close", () => slowSink.connections.open === 0);
}

type Sending = { name: string; each: number; pauseMs(): number };

async function sendToSlow({ testbed, load }: FaultRun, one: Slowness, sending: Sending): Promise<void> {
  const { name, each, pauseMs } = sending;
  const total = one.sites * each;
  let next = 0;
  const sendNext = async () => {
    for (let n = next++; n < total; n = next++) {
      const to = [`${name}${n}@${siteName(n % one.sites)}`];
      load.ledger.set(to[0]!, { id: await accepted(testbed, { to, async: true }), to, sentAtMs: performance.now() });
      await delay(pauseMs());
    }
  };
  await Promise.all(Array.from({ length: senders }, sendNext));
}

/** Sends healthy mail for a tenant. */
type Tenant = { testbed: Testbed; send(to: string): Promise<void> };

async function tenantOf({ testbed, load }: FaultRun, one: Slowness): Promise<Tenant> {
  if (one.measured === "same tenant") {
    const send = async (to: string) => {
      const id = await accepted(testbed, { to: [to], async: true });
      load.ledger.set(to, { id, to: [to], sentAtMs: performance.now() });
    };
    return { testbed, send };
  }
  const { sql } = testbed.database;
  const key = await makeWorkspace(sql, "Another tenant");
  const [row] = await sql<{ id: string }[]>`select id from workspaces where name = 'Another tenant'`;
  await addSendingDomain(sql, row!.id, senderDomain);
  const send = async (to: string) =>
    void (await accepted(testbed, { to: [to], async: true }, { authorization: `Bearer ${key}` }));
  return { testbed, send };
}

type Latency = { p50: number; p99: number };
type Measured = { known: Latency; fresh: Latency };

/** Sends one email at a time, in turn to a known receiver and to one never seen before, and measures each until it has arrived. */
async function measure({ testbed, send }: Tenant, name: string, count: number): Promise<Measured> {
  const times: Record<keyof Measured, number[]> = { known: [], fresh: [] };
  for (let i = 0; i < count; i++) {
    const freshDomain = `fresh-${name}${i}.test`;
    mailDomain(testbed.dns, freshDomain);
    times.known.push(await timeToArrive(testbed, send, `${name}${i}@other.test`));
    times.fresh.push(await timeToArrive(testbed, send, `${name}${i}@${freshDomain}`));
  }
  return { known: latencyOf(times.known), fresh: latencyOf(times.fresh) };
}

async function timeToArrive({ sink }: Testbed, send: Tenant["send"], to: string): Promise<number> {
  const before = sink.deliveries.length;
  const sentAtMs = performance.now();
  await send(to);
  const arrived = ({ deliveries }: Sink) =>
    deliveries.slice(before).some(({ recipients, reply }) => recipients.includes(to) && reply.startsWith("2"));
  await sink.until(arrived, measureLimitMs).catch(() => undefined);
  return performance.now() - sentAtMs;
}

function latencyOf(times: number[]): Latency {
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(times.length * 0.5)]!, p99: times[Math.floor(times.length * 0.99)]! };
}

function isSlower(measured: Measured, idle: Measured): boolean {
  return (["known", "fresh"] as const).some((kind) => measured[kind].p99 > 2 * idle[kind].p99 + graceMs);
}

function show({ known, fresh }: Measured): string {
  const of = ({ p50, p99 }: Latency) => `p50 ${Math.round(p50)}, p99 ${Math.round(p99)} ms`;
  return `known ${of(known)}, new ${of(fresh)}`;
}
