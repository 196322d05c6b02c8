/** Those who listen and misbehave: stream readers that stop reading, webhook endpoints that hang, drip, redirect inward or fail. */
import { request } from "node:http";
import { memoryMiB } from "../harness/process-stats.ts";
import type { Reaction } from "../harness/receiver.ts";
import { startReader } from "../harness/stream-readers.ts";
import { type Findings, type Say, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";
import type { World } from "../harness/world.ts";
import type { Fault } from "./fault.ts";

export const listeners: Fault[] = [
  {
    name: "stream readers stop reading",
    promise: "bounded memory; other readers see every event; nothing is slowed",
    times: 200,
    inject: stallReaders,
  },
  {
    name: "webhook endpoints hang, drip, redirect inward, answer 500",
    promise: "bounded memory; a good endpoint beside them gets every event",
    times: 200,
    inject: badEndpoints,
  },
];

/** Far more than a stream holds for a reader that does not read. */
const mayGrowMiB = 250;

async function stallReaders(times: number, say: Say): Promise<Findings> {
  let note = "";
  const found = await underLoad({}, async ({ world, load, strike, atRest }) => {
    const target = { url: () => world.program.url, key: world.program.key };
    const reader = startReader(target, { messages: 300 });
    const before = memoryMiB(world.program.pid).now;
    const stalled: { destroy(): void }[] = [];
    await strike(async () => {
      for (let i = 0; i < times; i++) stalled.push(await openStalled(world));
      say(`${times} readers that read nothing`);
      await load.untilAcknowledged(200);
    });
    const grown = memoryMiB(world.program.pid).peak - before;
    note = `the program grew by ${Math.round(grown)} MiB at most`;
    atRest(async () => {
      const log = (await world.events()).map(({ cursor, event }) => ({ number: cursor, id: event.id }));
      await until("the reader at the tail", () => reader.seen.length >= log.length).catch(() => {});
      await reader.stop();
      for (const one of stalled) one.destroy();
      return [
        ...(JSON.stringify(reader.seen) === JSON.stringify(log) ? [] : ["a reader beside them did not see the log"]),
        ...reader.wrong,
        ...(grown > mayGrowMiB ? [note] : []),
      ];
    });
  });
  return { ...found, injected: times, note };
}

/** An answer whose body nobody reads. */
function openStalled(world: World): Promise<{ destroy(): void }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${world.program.key}`,
      "content-type": "application/json",
      "connect-protocol-version": "1",
    };
    const options = { method: "POST", headers, agent: false };
    request(`${world.program.url}/v1.EmailService/StreamEvents`, options, resolve)
      .on("error", reject)
      .end('{"cursor":"0"}');
  });
}

const bad: Record<string, Reaction> = {
  "/hang": "hang",
  "/drip": "drip-body",
  "/fail": 500,
  "/inward": { status: 302, headers: { location: "http://169.254.169.254/latest/meta-data/" } },
};

async function badEndpoints(times: number, say: Say): Promise<Findings> {
  let note = "";
  const start = () => startWebhookWorld({ env: { POSTHORN_WEBHOOK_TIMEOUT_MS: "1000" } });
  const found = await underLoad<WebhookWorld>({ start }, async ({ world, strike, atRest }) => {
    const { receiver } = world;
    const good = new Set<string>();
    receiver.script = ({ path, event }) => {
      if (path in bad) return bad[path]!;
      good.add(event.id);
      return 200;
    };
    for (const path of ["/good", ...Object.keys(bad)]) await world.createWebhook({ url: receiver.url + path });
    const before = memoryMiB(world.program.pid).now;
    const hits = () => receiver.requests.filter(({ path }) => path in bad).length;
    await strike(() => until("bad answers", () => hits() >= times));
    say(`${hits()} bad answers`);
    const grown = memoryMiB(world.program.pid).peak - before;
    note = `the program grew by ${Math.round(grown)} MiB at most`;
    atRest(async () => {
      // A webhook is told of what happens after its making.
      const first = Math.min(...(await world.deliveries(await goodOne(world))).map(({ cursor }) => Number(cursor)));
      const wanted = (await world.events()).filter(({ cursor }) => Number(cursor) >= first);
      const missing = () => wanted.filter(({ event }) => !good.has(event.id)).length;
      await until("every event at the good endpoint", () => missing() === 0).catch(() => {});
      return [
        ...(missing() > 0 ? [`${missing()} events did not reach the good endpoint`] : []),
        ...(grown > mayGrowMiB ? [note] : []),
      ];
    });
  });
  return { ...found, injected: times, note };
}

async function goodOne(world: WebhookWorld): Promise<string> {
  const { data } = await world.ask("ListWebhooks", {});
  return (data as { id: string; url: string }[]).find(({ url }) => url.endsWith("/good"))!.id;
}
