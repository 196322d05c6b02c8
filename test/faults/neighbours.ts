/** Attacks on shared resources: one stranger's mail or one tenant's calls. Another tenant's SendEmail, ListEmails and inbound mail must
 * stay fast, and the program's memory must stay bounded and fall back. */
import { connect } from "node:net";
import { type AttackOrder, startAttack } from "../harness/attacks.ts";
import { deliverInbound, enableReceiving, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import type { Load } from "../harness/ledger.ts";
import { countStolen, memoryMiB } from "../harness/process-stats.ts";
import { accepted } from "../harness/sending.ts";
import { addSendingDomain, senderDomain } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";
import type { Fault } from "./fault.ts";

type Neighbour = {
  attack: string;
  /** What the attacker stores before: inbound mail with this many empty lines, or an email with an attachment of this size. */
  emptyLines?: number;
  attachmentBytes?: number;
  /** The size of the text of the other tenant's emails. */
  bodyBytes?: number;
};

const neighbourAttacks: Record<string, Neighbour> = {
  "65,000 empty lines, read six at a time": { attack: "read inbound", emptyLines: 65_000 },
  "99,000 empty lines, read six at a time": { attack: "read inbound", emptyLines: 99_000 },
  "16 answers of 20 MB that are not read": { attack: "unread answers", attachmentBytes: 15_000_000 },
  "200 slow readers of 20 MB": { attack: "200 slow readers", attachmentBytes: 15_000_000 },
  "mail of 990,000 empty lines": { attack: "mail of empty lines" },
  "mail of 2 MB with 25 signatures": { attack: "mail with 25 signatures" },
  "twelve messages of 15 MB that drip": { attack: "drip of large mail" },
  "500 SMTP connections from ten addresses": { attack: "500 SMTP connections" },
  "1,000 half-open SMTP sessions": { attack: "1,000 half-open SMTP sessions" },
  "70 unfinished requests of 1 MB": { attack: "70 unfinished requests", bodyBytes: 200_000 },
  "56 parallel AddDomain calls": { attack: "56 AddDomain calls" },
  "10,050 HTTP connections from one address": { attack: "10,050 HTTP connections" },
  "1,000 slow bodies": { attack: "1,000 slow bodies" },
};

export const neighbours: Fault[] = Object.entries(neighbourAttacks).map(([name, one]) => ({
  name: `neighbours: ${name}`,
  promise:
    "another tenant's SendEmail, ListEmails and inbound mail keep a p99 within 3× of idle; memory stays under 700 MiB and falls back",
  times: 1,
  inject: (_times, progress) => attackNeighbour(one, progress),
}));

/** Calls of each kind, before and during the attack. */
const measuredCalls = 200;
/** The attack lasts at least this long. */
const attackMs = 20_000;
/** Idle times below this are counted as this long: smaller differences are noise of the machine. */
const noiseMs = 20;
const maxMiB = 700;
/** How much larger the program may stay: the heap that V8 keeps for its next burst. */
const keptMiB = 100;
const fallsBackWithinMs = 60_000;
const attackerDomain = "attacker.test";

async function attackNeighbour(one: Neighbour, progress: Progress): Promise<Findings> {
  let note = "";
  const start = () => startInboundTestbed();
  const found = await underLoad({ start, load: { senders: 1, pauseMs: 200 } }, async ({ testbed, load, ...run }) => {
    const { pid } = testbed.program;
    const order = await prepare(testbed, one);
    const measure = (name: string, goesOn: () => boolean) =>
      measureTenant({ testbed, load, name, bodyBytes: one.bodyBytes ?? 100 }, goesOn);
    await measure("warm", () => false);
    const before = await measure("before", () => false);
    const beforeMiB = memoryMiB(pid).now;
    progress(`idle: ${showAll(before)}`);
    let during = before;
    let answers: Record<string, number> = {};
    await run.injectFault(async () => {
      const attack = startAttack(order);
      run.cleanUp(attack.stop);
      await until("the attack to begin", () => attack.isReady(), { withinMs: 60_000 });
      const end = performance.now() + attackMs;
      during = await measure("during", () => performance.now() < end);
      answers = attack.answers();
      await attack.stop();
    });
    const peakMiB = memoryMiB(pid).peak;
    const fellBack = () => memoryMiB(pid).now <= beforeMiB + keptMiB;
    await until("the memory to fall back", fellBack, { withinMs: fallsBackWithinMs }).catch(() => {});
    const afterMiB = memoryMiB(pid).now;
    const percent = (share: number) => Math.round(share * 100);
    const change = kinds.map((kind) => {
      const [b, d] = [before[kind], during[kind]];
      return `${kind} p99 ${show(b.p99)} → ${show(d.p99)} ms (p50 ${show(b.p50)} → ${show(d.p50)})`;
    });
    const stolen = `stolen CPU time ${percent(before.stolen)} → ${percent(during.stolen)} %`;
    const memory = `memory ${[beforeMiB, peakMiB, afterMiB].map(show).join(" → ")} MiB`;
    note = `${change.join(", ")}, ${memory}, ${stolen}, attackers saw ${JSON.stringify(answers)}`;
    progress(note);
    const slow = kinds.filter((kind) => during[kind].p99 > 3 * Math.max(noiseMs, before[kind].p99));
    const failed = kinds.filter((kind) => during[kind].failures.length > 0);
    run.whenSettled(() => [
      ...slow.map((kind) => `${kind} is slower than three times its idle p99: ${note}`),
      ...failed.map((kind) => `${kind} failed ${during[kind].failures.length} times: ${during[kind].failures[0]}`),
      ...(peakMiB > maxMiB ? [`memory rose above ${maxMiB} MiB: ${note}`] : []),
      ...(afterMiB > beforeMiB + keptMiB ? [`memory did not fall back: ${note}`] : []),
    ]);
  });
  return { ...found, note };
}

/** Creates the attacker's workspace with a domain that sends and receives, and stores what the attack reads. */
async function prepare(testbed: InboundTestbed, one: Neighbour): Promise<AttackOrder> {
  const { sql } = testbed.database;
  const key = await makeWorkspace(sql, "Attacker");
  const [row] = await sql<{ id: string }[]>`select id from workspaces where name = 'Attacker'`;
  await addSendingDomain(sql, row!.id, attackerDomain);
  await enableReceiving(testbed, attackerDomain);
  const address = `me@${attackerDomain}`;
  const { http, smtp } = testbed.program.ports;
  const order = { attack: one.attack, http, smtp: smtp!, key, address, inboundIds: [] as string[], emailId: "" };
  if (one.emptyLines) {
    for (let i = 0; i < 6; i++) {
      const raw = `From: s@there.test\r\nSubject: hello ${i}\r\n\r\n${"\r\n".repeat(one.emptyLines)}`;
      await deliverInbound(testbed, { to: address, raw });
    }
    const { body } = await testbed.call("InboundService/ListInbound", {}, { key });
    order.inboundIds = (body.data as { id: string }[]).map(({ id }) => id);
  }
  if (one.attachmentBytes) {
    const base64Content = Buffer.alloc(one.attachmentBytes, "content ").toString("base64");
    const request = {
      from: `news@${attackerDomain}`,
      to: ["a@there.test"],
      async: true,
      attachments: [{ filename: "a", base64Content }],
    };
    order.emailId = await accepted(testbed, request, { authorization: `Bearer ${key}` });
  }
  return order;
}

const kinds = ["SendEmail", "ListEmails", "inbound mail"] as const;
type Kind = (typeof kinds)[number];
type Times = Record<Kind, { p50: number; p99: number; failures: string[] }> & {
  /** The share of CPU time that the machine lost to others on its host. More than a few percent make the times meaningless. */
  stolen: number;
};
type Tenant = { testbed: InboundTestbed; load: Load; name: string; bodyBytes: number };

/** Makes the three kinds of calls one after the other, `measuredCalls` times and then for as long as the attack goes on. */
async function measureTenant({ testbed, load, name, bodyBytes }: Tenant, goesOn: () => boolean): Promise<Times> {
  const stolen = countStolen();
  const times = { SendEmail: [] as number[], ListEmails: [] as number[], "inbound mail": [] as number[] };
  const failures = { SendEmail: [] as string[], ListEmails: [] as string[], "inbound mail": [] as string[] };
  const timed = async (kind: Kind, call: () => Promise<unknown>) => {
    const startedAtMs = performance.now();
    try {
      await call();
    } catch (error) {
      failures[kind].push((error as Error).message);
    }
    times[kind].push(performance.now() - startedAtMs);
  };
  for (let i = 0; i < measuredCalls || goesOn(); i++) {
    const to = [`${name}${i}@other.test`];
    const sentAtMs = performance.now();
    await timed("SendEmail", async () => {
      const id = await accepted(testbed, { to, async: true, body: "x".repeat(bodyBytes) });
      load.ledger.set(to[0]!, { id, to, sentAtMs });
    });
    await timed("ListEmails", async () => {
      const { status } = await testbed.call("EmailService/ListEmails", { pageSize: 20 });
      if (status !== 200) throw new Error(`status ${status}`);
    });
    await timed("inbound mail", () => deliverSmall(testbed, `${name}${i}`));
  }
  const summary = (kind: Kind) => {
    const sorted = times[kind].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]!;
    return { p50: at(0.5), p99: at(0.99), failures: failures[kind] };
  };
  return {
    SendEmail: summary("SendEmail"),
    ListEmails: summary("ListEmails"),
    "inbound mail": summary("inbound mail"),
    stolen: stolen(),
  };
}

/** One message over a connection of its own, from an address that does not attack. */
async function deliverSmall({ smtpPort }: InboundTestbed, name: string): Promise<void> {
  const socket = connect({ port: smtpPort, host: "127.0.0.1", localAddress: "127.0.0.99" });
  const message = `From: ann@there.test\r\nSubject: ${name}\r\nMessage-ID: <${name}-${performance.now()}@there.test>\r\n\r\nhello\r\n.`;
  const lines = [
    "EHLO mx.there.test",
    "MAIL FROM:<ann@there.test>",
    `RCPT TO:<news@${senderDomain}>`,
    "DATA",
    message,
    "QUIT",
  ];
  let text = "";
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(60_000, () => socket.destroy(new Error("no answer for a minute")));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed after ${JSON.stringify(text.slice(-100))}`)));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const reply = /^(\d{3}) .*\r\n$/m.exec(text)?.[0];
      if (!reply) return;
      text = "";
      if (!/^[23]/.test(reply)) return reject(new Error(reply.trim()));
      const line = lines.shift();
      // The message is stored once its reply has come: only QUIT is left.
      if (line === "QUIT" || line === undefined) resolve();
      socket.write(`${line ?? "QUIT"}\r\n`);
    });
  }).finally(() => socket.destroy());
}

const show = (value: number) => Math.round(value).toLocaleString("en");
const showAll = (times: Times) => kinds.map((kind) => `${kind} p99 ${show(times[kind].p99)} ms`).join(", ");
