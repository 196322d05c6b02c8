/** Inbound messages per second, stored durably, parsed, authenticated and reported as events, compared with Postfix's queue.
 * npm run bench -- inbound */
import { startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { longestPauseMs, residentMiB, startEnvironment } from "./lib/environment.ts";
import { writeMessage } from "./lib/message.ts";
import type { Bench, Row } from "./lib/report.ts";
import { runSmtpLoad } from "./lib/smtp-load.ts";

const messages = 6000;
/** The optimizing compiler is ready after these. */
const warmUp = 1000;
const connections = 20;

export const benchInbound: Bench = async (progress) => {
  const environment = await startEnvironment();
  const node = await environment.start({ POSTHORN_ROLES: "api,inbound" });
  await environment.sql`update domains set can_receive = true, control_proved_at = now() where domain = ${senderDomain}`;
  // Like a real sender's: the resolver looks these records up once and caches them.
  environment.dns.set("there.test", "TXT", "v=spf1 ip4:127.0.0.1 -all");
  environment.dns.set("_dmarc.there.test", "TXT", "v=DMARC1; p=none");
  const load = { port: node.ports.smtp!, to: `us@${senderDomain}`, message: replyMessage, connections };
  progress(`sending ${messages} messages of 3 kB …`);
  await runSmtpLoad({ ...load, message: (i) => replyMessage(i + 1_000_000), count: warmUp });
  await longestPauseMs(node.opsUrl);
  const perSecond = await runSmtpLoad({ ...load, count: messages });
  const [stored] = await environment.sql<
    { n: number }[]
  >`select count(*)::int as n from events where type = 'email.received'`;
  if (stored!.n !== messages + warmUp) throw new Error(`${stored!.n} events for ${messages + warmUp} messages`);
  const memory = await residentMiB(node.pid);
  const pause = await longestPauseMs(node.opsUrl);
  await node.remove();
  await environment.stop();
  const peer = await postfix(progress);
  const rows: Row[] = [
    {
      what: "inbound: accepted (3 kB, durable, with events)",
      value: perSecond,
      unit: "/s",
      ...(peer && { baseline: { what: "Postfix, accepted into its queue", value: peer } }),
    },
    { what: "inbound: resident memory", value: memory, unit: "MiB" },
    { what: "inbound: longest pause of the event loop", value: pause, unit: "ms" },
  ];
  return rows;
};

/** Postfix with its defaults, which accepts the same messages into its queue and then discards them. */
async function postfix(progress: (text: string) => void): Promise<number | undefined> {
  if (withoutPostfix) {
    progress(withoutPostfix);
    return undefined;
  }
  progress(`the same ${messages} to Postfix …`);
  const peer = await startPostfix({ hostname: "mx.there.test", routes: { [senderDomain]: "discard" } });
  try {
    const load = { port: peer.port, to: `us@${senderDomain}`, message: replyMessage, connections };
    await runSmtpLoad({ ...load, count: warmUp });
    return await runSmtpLoad({ ...load, count: messages });
  } finally {
    await peer.stop();
  }
}

/** A typical reply: text and HTML, about 3 kB. */
function replyMessage(i: number): string {
  const text = "Thank you, that works for me. See you on Monday then.\r\n".repeat(18);
  return writeMessage({
    from: "Ann <ann@there.test>",
    to: `us@${senderDomain}`,
    subject: `Reply ${i}`,
    id: `reply.${i}@there.test`,
    text,
    html: `<p>${text}</p>`,
  });
}
