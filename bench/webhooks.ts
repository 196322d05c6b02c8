/** Events per second posted to webhooks, signed and settled, compared with the same bodies posted by plain node:http.
 * npm run bench -- webhooks */
import { Agent, request } from "node:http";
import { silentLog } from "../src/ops/log.ts";
import { createWake } from "../src/postgres/wake.ts";
import { until } from "../test/harness/wait.ts";
import { addManyEvents, addWebhook } from "../test/harness/webhooks.ts";
import { type CountingProcess, startCountingProcess } from "./lib/counting-process.ts";
import { residentMiB, startEnvironment } from "./lib/environment.ts";
import type { Bench } from "./lib/report.ts";

const posts = 12_000;
const manyWebhooks = 10;
/** The maximum of concurrent posts to one webhook. */
const atOnce = 10;

export const benchWebhooks: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  const receiver = await startCountingProcess("receiver.ts");
  const node = await environment.start({
    POSTHORN_ROLES: "api,webhooks",
    POSTHORN_ALLOW_PRIVATE_WEBHOOKS: "127.0.0.1/32",
  });
  const wake = createWake({ sql, log: silentLog() });
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = row!.value;
  const url = `http://127.0.0.1:${receiver.port}/hook`;

  /** Posts per second, from the commit of the events until the last delivery is settled. */
  const post = async (events: number, webhooks: number) => {
    const before = (await receiver.counts()).received;
    const began = performance.now();
    await addManyEvents(sql, workspaceId, events, "email.delivered");
    wake.notify("events");
    const within = { withinMs: 60_000, everyMs: 20 };
    const allReceived = async () => (await receiver.counts()).received >= before + events * webhooks;
    await until("every event to be posted", allReceived, within);
    // Checked last and through an index: counting settled rows all the time would load the database.
    const waiting = async () => await sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
    await until("every post to be settled", async () => (await waiting()).length === 0, within);
    return (events * webhooks) / ((performance.now() - began) / 1000);
  };

  await addWebhook(sql, workspaceId, { url });
  await post(500, 1);
  progress(`${posts} events to one webhook …`);
  const one = await post(posts, 1);
  progress(`${posts / manyWebhooks} events to each of ${manyWebhooks} webhooks …`);
  for (let i = 1; i < manyWebhooks; i++) await addWebhook(sql, workspaceId, { url });
  const many = await post(posts / manyWebhooks, manyWebhooks);
  const memory = await residentMiB(node.pid);
  await wake.stop();
  await node.remove();
  await environment.stop();

  const { received, lastBody } = await receiver.counts();
  if (received !== 500 + posts * 2) throw new Error(`the receiver counted ${received} posts`);
  progress("the same bodies with plain node:http …");
  const body = lastBody!;
  const rawOne = await plainPosts(receiver, body, atOnce);
  const rawMany = await plainPosts(receiver, body, atOnce * manyWebhooks);
  receiver.stop();
  return [
    {
      what: "webhooks: posted to one webhook",
      value: one,
      unit: "/s",
      baseline: { what: `plain node:http posts, ${atOnce} at once`, value: rawOne },
    },
    {
      what: `webhooks: posted to ${manyWebhooks} webhooks in total`,
      value: many,
      unit: "/s",
      baseline: { what: `plain node:http posts, ${atOnce * manyWebhooks} at once`, value: rawMany },
    },
    { what: "webhooks: resident memory", value: memory, unit: "MiB" },
  ];
};

/** Posts per second of the bare HTTP client that webhooks use. */
async function plainPosts({ port }: CountingProcess, body: string, connections: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const once = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path: "/hook", method: "POST", headers, agent }, (answer) => {
        answer.resume().on("end", resolve);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const run = async (count: number) => {
    let next = 0;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next++ < count) await once();
      }),
    );
    return count / ((performance.now() - began) / 1000);
  };
  await run(1000);
  const perSecond = await run(posts);
  agent.destroy();
  return perSecond;
}
