/** How many events per second are posted to webhooks, signed and settled, beside the same bodies posted by plain node:http: node bench/webhooks.ts [--json] */
import { Agent, request } from "node:http";
import { silentLog } from "../src/ops/log.ts";
import { createWake } from "../src/store/wake.ts";
import { until } from "../test/harness/wait.ts";
import { addManyEvents, addWebhook } from "../test/harness/webhooks.ts";
import { type Counted, startCounted } from "./lib/counted.ts";
import { type Bench, runAlone } from "./lib/report.ts";
import { residentMiB, setStage } from "./lib/stage.ts";

const posts = 4000;
const manyWebhooks = 10;
/** As many as one webhook gets at most. */
const atOnce = 10;

export const benchWebhooks: Bench = async (say) => {
  const stage = await setStage();
  const { sql } = stage;
  const receiver = await startCounted("receiver.ts");
  const node = await stage.start({
    POSTHORN_ROLES: "api,webhooks",
    POSTHORN_ALLOW_PRIVATE_WEBHOOKS: "127.0.0.1/32",
  });
  const wake = createWake({ sql, log: silentLog() });
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = row!.value;
  const url = `http://127.0.0.1:${receiver.port}/hook`;

  /** From the commit of the events until the last is settled. */
  const post = async (events: number, webhooks: number) => {
    const before = (await receiver.ask()).taken;
    const began = performance.now();
    await addManyEvents(sql, workspaceId, events, "email.delivered");
    wake.tell("events");
    const within = { withinMs: 60_000, everyMs: 20 };
    const came = async () => (await receiver.ask()).taken >= before + events * webhooks;
    await until("every event to be posted", came, within);
    // Asked last, and by an index: counting settled rows all the while would be a load of its own.
    const waiting = async () => await sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
    await until("every post to be settled", async () => (await waiting()).length === 0, within);
    return (events * webhooks) / ((performance.now() - began) / 1000);
  };

  await addWebhook(sql, workspaceId, { url });
  await post(500, 1);
  say(`${posts} events to one webhook …`);
  const one = await post(posts, 1);
  say(`${posts / manyWebhooks} events to each of ${manyWebhooks} webhooks …`);
  for (let i = 1; i < manyWebhooks; i++) await addWebhook(sql, workspaceId, { url });
  const many = await post(posts / manyWebhooks, manyWebhooks);
  const memory = await residentMiB(node.pid);
  await wake.stop();
  await node.remove();
  await stage.clear();

  const { taken, lastBody } = await receiver.ask();
  if (taken !== 500 + posts * 2) throw new Error(`the receiver has ${taken} posts`);
  say("the same bodies by plain node:http …");
  const body = lastBody!;
  const rawOne = await plainPosts(receiver, body, atOnce);
  const rawMany = await plainPosts(receiver, body, atOnce * manyWebhooks);
  receiver.stop();
  return [
    {
      ...{ what: "webhooks: posted to one", value: one, unit: "/s" },
      beside: { what: `plain node:http posts, ${atOnce} at once`, value: rawOne },
    },
    {
      ...{ what: `webhooks: posted to ${manyWebhooks}, all together`, value: many, unit: "/s" },
      beside: { what: `plain node:http posts, ${atOnce * manyWebhooks} at once`, value: rawMany },
    },
    { what: "webhooks: resident memory", value: memory, unit: "MiB" },
  ];
};

/** Posts per second of the client that webhooks are posted with, and nothing around it. */
async function plainPosts({ port }: Counted, body: string, connections: number): Promise<number> {
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

if (import.meta.main) await runAlone(benchWebhooks);
