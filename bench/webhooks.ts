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
import { quick } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";
import { steady } from "./lib/steady.ts";

const posts = quick ? 4000 : 12_000;
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
  progress("warming up …");
  await post(quick ? 1000 : 4000, 1);
  const plain = await startPlainPosts(receiver, (await receiver.counts()).lastBody!);
  const compare = async (webhooks: number, what: string, least: number) =>
    await steady(progress, async () => {
      const concurrency = atOnce * webhooks;
      const before = (await receiver.counts()).received;
      const { result, shares } = await measured(
        { environment, node },
        async () => await post(posts / webhooks, webhooks),
      );
      const received = (await receiver.counts()).received - before;
      if (received !== posts) throw new Error(`the receiver counted ${received} posts`);
      const value = await plain(concurrency);
      const baseline = { what: `plain node:http posts, ${concurrency} at once`, value };
      return [{ what, value: result, unit: "/s", baseline, least, shares }];
    });
  progress(`${posts} events to one webhook, and the same bodies with plain node:http …`);
  const one = await compare(1, "webhooks: posted to one webhook", 0.3);
  progress(`${posts / manyWebhooks} events to each of ${manyWebhooks} webhooks …`);
  for (let i = 1; i < manyWebhooks; i++) await addWebhook(sql, workspaceId, { url });
  const many = await compare(manyWebhooks, `webhooks: posted to ${manyWebhooks} webhooks in total`, 0.45);
  const memory = await residentMiB(node.pid);
  await wake.stop();
  await node.remove();
  await environment.stop();
  receiver.stop();
  return [...one, ...many, { what: "webhooks: resident memory", value: memory, unit: "MiB" }];
};

/** Posts per second of the bare HTTP client that webhooks use, by concurrency. */
async function startPlainPosts(
  { port }: CountingProcess,
  body: string,
): Promise<(connections: number) => Promise<number>> {
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const once = (agent: Agent) =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path: "/hook", method: "POST", headers, agent }, (answer) => {
        answer.resume().on("end", resolve);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const run = async (connections: number, count: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    let next = 0;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next++ < count) await once(agent);
      }),
    );
    const perSecond = count / ((performance.now() - began) / 1000);
    agent.destroy();
    return perSecond;
  };
  await run(atOnce, 2000);
  return async (connections) => await run(connections, posts);
}
