/** Inbound messages per second, stored durably, parsed, authenticated and reported as events, compared with Postfix's queue.
 * npm run bench -- inbound */
import { startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { longestPauseMs, residentMiB, startEnvironment } from "./lib/environment.ts";
import { writeMessage } from "./lib/message.ts";
import type { Bench } from "./lib/report.ts";
import { quick } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";
import { runSmtpLoad } from "./lib/smtp-load.ts";
import { steady } from "./lib/steady.ts";

const messages = quick ? 1500 : 4000;
/** The optimizing compiler is ready after these. */
const warmUp = quick ? 500 : 1500;
const connections = 20;

export const benchInbound: Bench = async (progress) => {
  const environment = await startEnvironment();
  const node = await environment.start({ POSTHORN_ROLES: "api,inbound" });
  await environment.sql`update domains set can_receive = true, control_proved_at = now() where domain = ${senderDomain}`;
  // Like a real sender's: the resolver looks these records up once and caches them.
  environment.dns.set("there.test", "TXT", "v=spf1 ip4:127.0.0.1 -all");
  environment.dns.set("_dmarc.there.test", "TXT", "v=DMARC1; p=none");
  // Postfix with its defaults, which accepts the same messages into its queue and then discards them.
  const postfix = withoutPostfix
    ? undefined
    : await startPostfix({ hostname: "mx.there.test", routes: { [senderDomain]: "discard" } });
  let sent = 0;
  const send = async (port: number, count: number) => {
    const first = sent;
    sent += count;
    const message = (i: number) => replyMessage(first + i);
    return await runSmtpLoad({ port, to: `us@${senderDomain}`, message, connections, count });
  };
  progress("warming up …");
  await send(node.ports.smtp!, warmUp);
  if (postfix) await send(postfix.port, warmUp);
  await longestPauseMs(node.opsUrl);
  let expected = warmUp;
  progress(`${messages} messages of 3 kB to Posthorn and to Postfix …`);
  const rows = await steady(progress, async () => {
    const { result, shares } = await measured(
      { environment, node },
      async () => await send(node.ports.smtp!, messages),
    );
    expected += messages;
    const [stored] = await environment.sql<
      { n: number }[]
    >`select count(*)::int as n from events where type = 'email.received'`;
    if (stored!.n !== expected) throw new Error(`${stored!.n} events for ${expected} messages`);
    const peer = "Postfix, accepted into its queue";
    const compared = postfix
      ? { baseline: { what: peer, value: await send(postfix.port, messages) } }
      : { notCompared: `${peer}: ${withoutPostfix}` };
    const what = "inbound: accepted (3 kB, durable, with events)";
    return [
      { what, value: result, unit: "/s", ...compared, least: 1.2, shares },
      { what: "inbound: resident memory", value: await residentMiB(node.pid), unit: "MiB" },
      {
        what: "inbound: longest pause of the event loop",
        value: await longestPauseMs(node.opsUrl),
        unit: "ms",
      },
    ];
  });
  await node.remove();
  await postfix?.stop();
  await environment.stop();
  return rows;
};

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
