/** Messages per second that programs submit over kept SMTP connections, each answered after its commit, compared with Postfix's queue.
 * npm run bench -- submission */
import { randomUUID } from "node:crypto";
import { type Postfix, startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { benchKey, type Environment, longestPauseMs, residentMiB, startEnvironment } from "./lib/environment.ts";
import { writeMessage } from "./lib/message.ts";
import type { Bench, Row } from "./lib/report.ts";
import { measured } from "./lib/shares.ts";
import { type Login, runSmtpLoad } from "./lib/smtp-load.ts";
import { steady } from "./lib/steady.ts";

const messages = 1500;
const connections = 20;
const load = { from: `shop@${senderDomain}`, to: "user@there.test", connections };

/** Posthorn runs without the role that delivers. A Postfix with its defaults accepts into its queue and discards from there, as in the bench of
 * inbound mail. The other one only accepts, and keeps every message on hold. */
const postfixes = {
  "Postfix, accepted into its queue": {},
  "Postfix that only accepts, every message on hold": {
    smtpd_end_of_data_restrictions: "check_client_access static:HOLD",
  },
};

export const benchSubmission: Bench = async (progress) => {
  const environment = await startEnvironment();
  const node = await environment.start({ POSTHORN_ROLES: "api", POSTHORN_DELIVERY: "capture" });
  const peers = withoutPostfix ? [] : await startPeers();
  try {
    const send = () => run(node.ports.submission!, { user: "posthorn", password: benchKey });
    progress("warming up …");
    await send();
    let expected = messages;
    for (const { port } of peers) await run(port);
    await longestPauseMs(node.opsUrl);
    progress(`${messages} messages of 3 kB over ${connections} connections to Posthorn and to Postfix …`);
    return await steady(progress, async () => {
      const { result, shares } = await measured({ environment, node }, send);
      expected += messages;
      const baselines: NonNullable<Row["baseline"]>[] = [];
      for (const { name, port } of peers) baselines.push({ what: name, value: await run(port) });
      await checkStored(environment.sql, expected);
      const what = `submission: accepted over ${connections} kept connections (3 kB, durable)`;
      const accepted: Row = { what, value: result, unit: "/s", shares };
      return [
        ...baselines.map((baseline) => ({ ...accepted, baseline })),
        ...(withoutPostfix ? [{ ...accepted, notCompared: `Postfix: ${withoutPostfix}` }] : []),
        { what: "submission: resident memory", value: await residentMiB(node.pid), unit: "MiB" },
        { what: "submission: longest pause of the event loop", value: await longestPauseMs(node.opsUrl), unit: "ms" },
      ];
    });
  } finally {
    for (const peer of peers) await peer.stop();
    await node.remove();
    await environment.stop();
  }
};

async function startPeers() {
  const peers: (Postfix & { name: string })[] = [];
  for (const [name, settings] of Object.entries(postfixes))
    peers.push({
      ...(await startPostfix({ hostname: "mx.test", routes: { "there.test": "discard" }, settings })),
      name,
    });
  return peers;
}

async function run(port: number, login?: Login): Promise<number> {
  const batch = randomUUID();
  return await runSmtpLoad({ ...load, port, login, count: messages, message: (i) => message(`${batch}.${i}`) });
}

async function checkStored(sql: Environment["sql"], expected: number): Promise<void> {
  const [stored] = await sql<{ n: number }[]>`select count(*)::int as n from emails`;
  if (stored!.n !== expected) throw new Error(`${stored!.n} emails stored for ${expected} accepted messages`);
}

const text = `${"Your order has been shipped and will arrive soon.\r\n".repeat(20)}`;

/** About 3 kB with text and HTML. */
function message(id: string): string {
  return writeMessage({
    from: `Shop <shop@${senderDomain}>`,
    to: "user@there.test",
    subject: "Your order",
    id: `${id}@${senderDomain}`,
    text,
    html: `<p>${text}</p><p>${text.slice(0, 800)}</p>`,
  });
}
