/** Messages per second that programs submit over kept SMTP connections, each answered after its commit, compared with Postfix's queue.
 * npm run bench -- submission */
import { randomUUID } from "node:crypto";
import { type Postfix, startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { benchKey, type Environment, longestPauseMs, residentMiB, startEnvironment } from "./lib/environment.ts";
import { writeMessage } from "./lib/message.ts";
import type { Bench, Row } from "./lib/report.ts";
import { type Login, runSmtpLoad } from "./lib/smtp-load.ts";

const messages = 4000;
const connections = 20;
const rounds = 3;
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
  if (withoutPostfix) progress(withoutPostfix);
  try {
    const send = () => run(node.ports.submission!, { user: "posthorn", password: benchKey });
    await send();
    for (const { port } of peers) await run(port);
    await longestPauseMs(node.opsUrl);
    const figures: { own: number; peers: number[] }[] = [];
    // In turns, so that a slow moment of the machine affects all of them.
    for (let round = 1; round <= rounds; round++) {
      progress(`round ${round} of ${rounds}: ${messages} messages of 3 kB over ${connections} connections …`);
      const own = await send();
      const others: number[] = [];
      for (const { port } of peers) others.push(await run(port));
      figures.push({ own, peers: others });
    }
    await checkStored(environment.sql, (rounds + 1) * messages);
    const value = median(figures.map(({ own }) => own));
    const baselines = peers.map(({ name }, i) => ({ what: name, value: median(figures.map((one) => one.peers[i]!)) }));
    const what = `submission: accepted over ${connections} kept connections (3 kB, durable)`;
    const accepted: Row = { what, value, unit: "/s" };
    return [
      ...(peers.length > 0 ? baselines.map((baseline) => ({ ...accepted, baseline })) : [accepted]),
      { what: "submission: resident memory", value: await residentMiB(node.pid), unit: "MiB" },
      { what: "submission: longest pause of the event loop", value: await longestPauseMs(node.opsUrl), unit: "ms" },
    ];
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
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
