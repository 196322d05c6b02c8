/** Messages per second that programs submit over kept SMTP connections, each answered after its commit, compared with Postfix's queue.
 * npm run bench -- submission */
import { startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { benchKey, type Environment, longestPauseMs, residentMiB, startEnvironment } from "./lib/environment.ts";
import type { Bench, Row } from "./lib/report.ts";
import { type Login, runSmtpLoad } from "./lib/smtp-load.ts";

const messages = 4000;
const connections = 20;
const rounds = 3;
/** Both only accept: Postfix keeps the messages in its queue, Posthorn runs without the role that delivers. */
const peerOptions = {
  hostname: "mx.test",
  routes: { "there.test": "discard" as const },
  settings: { smtpd_end_of_data_restrictions: "check_client_access static:HOLD" },
};
const load = { from: `shop@${senderDomain}`, to: "user@there.test", connections };

export const benchSubmission: Bench = async (progress) => {
  const environment = await startEnvironment();
  const node = await environment.start({ POSTHORN_ROLES: "api", POSTHORN_DELIVERY: "capture" });
  const peer = withoutPostfix ? undefined : await startPostfix(peerOptions);
  if (withoutPostfix) progress(withoutPostfix);
  try {
    const ours = () => run(node.ports.submission!, { user: "posthorn", password: benchKey });
    const theirs = () => run(peer!.port);
    await ours();
    if (peer) await theirs();
    await longestPauseMs(node.opsUrl);
    // In turns, so that a slow moment of the machine affects both.
    const figures: { ours: number; theirs: number }[] = [];
    for (let round = 1; round <= rounds; round++) {
      progress(`round ${round} of ${rounds}: ${messages} messages of 3 kB over ${connections} connections …`);
      figures.push({ ours: await ours(), theirs: peer ? await theirs() : 0 });
    }
    await checkStored(environment.sql, (rounds + 1) * messages);
    const [median] = figures.sort((a, b) => a.ours - b.ours).slice(Math.floor(rounds / 2));
    const rows: Row[] = [
      {
        what: "submission: accepted over 20 kept connections (3 kB, durable)",
        value: median!.ours,
        unit: "/s",
        ...(peer && { baseline: { what: "Postfix, accepted into its queue", value: median!.theirs } }),
      },
      { what: "submission: resident memory", value: await residentMiB(node.pid), unit: "MiB" },
      { what: "submission: longest pause of the event loop", value: await longestPauseMs(node.opsUrl), unit: "ms" },
    ];
    return rows;
  } finally {
    await peer?.stop();
    await node.remove();
    await environment.stop();
  }
};

async function run(port: number, login?: Login): Promise<number> {
  const batch = Math.random().toString(36).slice(2);
  return await runSmtpLoad({ ...load, port, login, count: messages, message: (i) => message(`${batch}.${i}`) });
}

async function checkStored(sql: Environment["sql"], expected: number): Promise<void> {
  const [stored] = await sql<{ n: number }[]>`select count(*)::int as n from emails`;
  if (stored!.n !== expected) throw new Error(`${stored!.n} emails stored for ${expected} accepted messages`);
}

const text = `${"Your order has been shipped and will arrive soon.\r\n".repeat(20)}`;

/** About 3 kB with text and HTML, as a library for SMTP writes it. */
function message(id: string): string {
  return [
    `From: Shop <shop@${senderDomain}>`,
    "To: user@there.test",
    "Subject: Your order",
    `Message-ID: <${id}@${senderDomain}>`,
    "Date: Mon, 02 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/alternative; boundary="=_b"',
    "",
    "--=_b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
    "--=_b",
    "Content-Type: text/html; charset=utf-8",
    "",
    `<p>${text}</p><p>${text.slice(0, 800)}</p>`,
    "--=_b--",
  ].join("\r\n");
}
