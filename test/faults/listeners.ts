/** Faults of event consumers: stream readers that stop reading, webhook endpoints that hang, drip, redirect to private
 * addresses or fail. */
import { request } from "node:http";
import { memoryMiB } from "../harness/process-stats.ts";
import type { Reaction } from "../harness/receiver.ts";
import { startReader } from "../harness/stream-readers.ts";
import type { Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import type { Fault } from "./fault.ts";

export const listeners: Fault[] = [
  {
    name: "stream readers stop reading",
    promise: "bounded memory; other readers get every event; delivery is not slowed down",
    times: 200,
    inject: stallReaders,
  },
  {
    name: "webhook endpoints hang, drip, redirect to a private address, answer 500",
    promise: "bounded memory; a working endpoint gets every event",
    times: 200,
    inject: badEndpoints,
  },
];

/** Much more than the buffers of all streams whose readers do not read. */
const maxGrowthMiB = 250;

async function stallReaders(times: number, progress: Progress): Promise<Findings> {
  let note = "";
  const found = await underLoad({}, async ({ testbed, load, injectFault, whenSettled }) => {
    const target = { url: () => testbed.program.url, key: testbed.program.key };
    const reader = startReader(target, { messages: 300 });
    const before = memoryMiB(testbed.program.pid).now;
    const stalled: { destroy(): void }[] = [];
    await injectFault(async () => {
      for (let i = 0; i < times; i++) stalled.push(await openStalled(testbed));
      progress(`${times} readers that do not read`);
      await load.untilAcknowledged(200);
    });
    const grown = memoryMiB(testbed.program.pid).peak - before;
    note = `memory of the program grew by at most ${Math.round(grown)} MiB`;
    whenSettled(async () => {
      const log = (await testbed.events()).map(({ cursor, event }) => ({ number: cursor, id: event.id }));
      await until("the reader at the tail", () => reader.seen.length >= log.length).catch(() => {});
      await reader.stop();
      for (const one of stalled) one.destroy();
      return [
        ...(JSON.stringify(reader.seen) === JSON.stringify(log)
          ? []
          : ["a working reader did not get the complete log"]),
        ...reader.wrong,
        ...(grown > maxGrowthMiB ? [note] : []),
      ];
    });
  });
  return { ...found, injected: times, note };
}

/** Opens a stream and does not read its body. */
function openStalled(testbed: Testbed): Promise<{ destroy(): void }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${testbed.program.key}`,
      "content-type": "application/json",
      "connect-protocol-version": "1",
    };
    const options = { method: "POST", headers, agent: false };
    request(`${testbed.program.url}/v1.EmailService/StreamEvents`, options, resolve)
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

async function badEndpoints(times: number, progress: Progress): Promise<Findings> {
  let note = "";
  const start = () => startWebhookTestbed({ env: { POSTHORN_WEBHOOK_TIMEOUT_MS: "1000" } });
  const found = await underLoad<WebhookTestbed>({ start }, async ({ testbed, injectFault, whenSettled }) => {
    const { receiver } = testbed;
    const good = new Set<string>();
    receiver.script = ({ path, event }) => {
      if (path in bad) return bad[path]!;
      good.add(event.id);
      return 200;
    };
    for (const path of ["/good", ...Object.keys(bad)]) await testbed.createWebhook({ url: receiver.url + path });
    const before = memoryMiB(testbed.program.pid).now;
    const hits = () => receiver.requests.filter(({ path }) => path in bad).length;
    await injectFault(() => until("bad answers", () => hits() >= times));
    progress(`${hits()} bad answers`);
    const grown = memoryMiB(testbed.program.pid).peak - before;
    note = `memory of the program grew by at most ${Math.round(grown)} MiB`;
    whenSettled(async () => {
      // A webhook gets only the events after its creation.
      const first = Math.min(
        ...(await testbed.deliveries(await goodWebhookId(testbed))).map(({ cursor }) => Number(cursor)),
      );
      const expected = (await testbed.events()).filter(({ cursor }) => Number(cursor) >= first);
      const missing = () => expected.filter(({ event }) => !good.has(event.id)).length;
      await until("every event at the good endpoint", () => missing() === 0).catch(() => {});
      return [
        ...(missing() > 0 ? [`${missing()} events did not reach the good endpoint`] : []),
        ...(grown > maxGrowthMiB ? [note] : []),
      ];
    });
  });
  return { ...found, injected: times, note };
}

async function goodWebhookId(testbed: WebhookTestbed): Promise<string> {
  const { data } = await testbed.ask("ListWebhooks", {});
  return (data as { id: string; url: string }[]).find(({ url }) => url.endsWith("/good"))!.id;
}
