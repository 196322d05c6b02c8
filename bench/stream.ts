/** Time from the request that sends an email to its event on a stream, time from a commit to the reader of a stream, alone and with 2,000
 * idle streams, and the memory of an idle stream.
 * npm run bench -- stream */
import { connect, type Socket } from "node:net";
import { appendEvent } from "../src/events/store.ts";
import { insertKey, makeKeySecret } from "../src/keys/store.ts";
import { silentLog } from "../src/ops/log.ts";
import { makeUuid } from "../src/postgres/ids.ts";
import type { Sql } from "../src/postgres/pool.ts";
import { createWake, type Wake } from "../src/postgres/wake.ts";
import { createWorkspace } from "../src/workspaces/store.ts";
import { openStream } from "../test/harness/streams.ts";
import { until } from "../test/harness/wait.ts";
import { measureDelivered } from "./lib/delivered-latency.ts";
import { benchKey, residentMiB, startEnvironment } from "./lib/environment.ts";
import type { Bench } from "./lib/report.ts";
import { quick } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";

const idleStreams = quick ? 200 : 2000;
const wakeUps = quick ? 200 : 500;
const emails = quick ? 150 : 400;

export const benchStream: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  environment.mailDomain("new.test");
  progress(`${emails} emails, each until its event arrives …`);
  const whole = await environment.start();
  await measureDelivered(whole, 100);
  const delivered = await measureDelivered(whole, emails);
  await whole.remove();
  const node = await environment.start({ POSTHORN_ROLES: "api" });
  // The bench acts as another node: it commits events and sends the wake-up.
  const wake = createWake({ sql, log: silentLog() });
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const active = { url: node.url, workspaceId: row!.value, sql, wake };

  progress(`${wakeUps} wake-ups of one stream …`);
  await measureWakeUps(active, 50);
  const { result: alone, shares } = await measured({ environment, node }, () => measureWakeUps(active, wakeUps));

  progress(`opening ${idleStreams} idle streams, each in its own workspace …`);
  const keys = await makeWorkspaces(sql, idleStreams);
  const before = await residentMiB(node.pid);
  const began = performance.now();
  const sockets = await openIdle(node.url, keys);
  const openSeconds = (performance.now() - began) / 1000;
  await until("the node to count them", async () => (await countStreams(node.opsUrl)) === idleStreams);
  const perStreamKiB = ((await residentMiB(node.pid)) - before) * (1024 / idleStreams);

  progress(`${wakeUps} wake-ups with idle streams …`);
  await measureWakeUps(active, 50);
  const busy = await measured({ environment, node }, () => measureWakeUps(active, wakeUps));
  const withIdle = busy.result;
  for (const socket of sockets) socket.destroy();
  await until("the node to close them", async () => (await countStreams(node.opsUrl)) === 0, { withinMs: 30_000 });
  await wake.stop();
  await node.remove();
  await environment.stop();
  return [
    { what: "SendEmail to email.delivered on a stream, p50", value: delivered.p50, unit: "ms" },
    { what: "SendEmail to email.delivered on a stream, p99", value: delivered.p99, unit: "ms", most: 50 },
    { what: "commit to reader, p50, one stream", value: alone.p50, unit: "ms", shares },
    { what: "commit to reader, p99, one stream", value: alone.p99, unit: "ms", shares },
    {
      what: `commit to reader, p50, with ${idleStreams} idle streams`,
      value: withIdle.p50,
      unit: "ms",
      baseline: { what: "one stream", value: alone.p50 },
      shares: busy.shares,
    },
    {
      what: `commit to reader, p99, with ${idleStreams} idle streams`,
      value: withIdle.p99,
      unit: "ms",
      baseline: { what: "one stream", value: alone.p99 },
      shares: busy.shares,
    },
    { what: "resident memory per idle stream", value: perStreamKiB, unit: "KiB" },
    { what: "streams opened", value: idleStreams / openSeconds, unit: "/s" },
  ];
};

type Active = { url: string; workspaceId: string; sql: Sql; wake: Wake };

/** Commits each event after the reader has received the previous one. */
async function measureWakeUps({ url, workspaceId, sql, wake }: Active, count: number) {
  const took: number[] = [];
  let seen = Promise.withResolvers<number>();
  const stream = await openStream(url, {
    key: benchKey,
    request: { cursor: "latest" },
    onMessage: ({ event }) => event && seen.resolve(performance.now()),
  });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  for (let i = 0; i < count; i++) {
    seen = Promise.withResolvers<number>();
    const payload = { domain: "example.test" };
    await appendEvent(sql, { id: makeUuid(Date.now()), workspaceId, type: "domain.updated", payload });
    const committed = performance.now();
    wake.notify("events");
    took.push((await seen.promise) - committed);
  }
  stream.leave();
  took.sort((a, b) => a - b);
  return { p50: took[Math.floor(count * 0.5)]!, p99: took[Math.floor(count * 0.99)]! };
}

async function makeWorkspaces(sql: Sql, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const workspaceId = makeUuid(Date.now());
    const { secret } = makeKeySecret(false);
    await createWorkspace(sql, { id: workspaceId, name: `idle ${i}` });
    const key = {
      id: makeUuid(Date.now()),
      workspaceId,
      name: "idle",
      secret,
      permission: "read",
      test: false,
    } as const;
    await insertKey(sql, key);
    keys.push(secret);
  }
  return keys;
}

/** Opens minimal stream readers, 50 at a time. Each is one socket, and counts as open when its first message has arrived. */
async function openIdle(url: string, keys: readonly string[]): Promise<Socket[]> {
  const { hostname, port, host } = new URL(url);
  const sockets: Socket[] = [];
  let next = 0;
  const open = (key: string) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("an idle stream was closed")));
      socket.on("data", (chunk) => chunk.includes('{"cursor"') && resolve());
      const head = [
        ...["POST /v1.EmailService/StreamEvents HTTP/1.1", `Host: ${host}`, `Authorization: Bearer ${key}`],
        ...["Content-Type: application/json", "Connect-Protocol-Version: 1", "Content-Length: 2"],
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n{}`);
    });
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      while (next < keys.length) await open(keys[next++]!);
    }),
  );
  return sockets;
}

async function countStreams(opsUrl: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^posthorn_event_streams (\d+)/m.exec(text)?.[1]);
}
