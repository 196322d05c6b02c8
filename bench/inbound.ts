/** How many messages per second arrive durably, parsed, judged and told as events, beside Postfix's own queue: node bench/inbound.ts [--json] */

import { startPostfix, withoutPostfix } from "../test/harness/postfix.ts";
import { senderDomain } from "../test/harness/world.ts";
import { type Bench, type Row, runAlone } from "./lib/report.ts";
import { runSmtpLoad } from "./lib/smtp-load.ts";
import { longestPauseMs, residentMiB, setStage } from "./lib/stage.ts";

const messages = 2000;
const connections = 20;

export const benchInbound: Bench = async (say) => {
  const stage = await setStage();
  const node = await stage.start({ POSTHORN_ROLES: "api,inbound" });
  await stage.sql`update domains set can_receive = true, control_proved_at = now() where domain = ${senderDomain}`;
  // As for real senders: their records are asked for once and kept.
  stage.dns.set("there.test", "TXT", "v=spf1 ip4:127.0.0.1 -all");
  stage.dns.set("_dmarc.there.test", "TXT", "v=DMARC1; p=none");
  const load = { port: node.ports.smtp!, to: `us@${senderDomain}`, message: letter, connections };
  say(`bringing ${messages} messages of 3 kB …`);
  await runSmtpLoad({ ...load, message: (i) => letter(i + 1_000_000), count: 300 });
  await longestPauseMs(node.opsUrl);
  const taken = await runSmtpLoad({ ...load, count: messages });
  const [stored] = await stage.sql<
    { n: number }[]
  >`select count(*)::int as n from events where type = 'email.received'`;
  if (stored!.n !== messages + 300) throw new Error(`${stored!.n} events for ${messages + 300} messages`);
  const memory = await residentMiB(node.pid);
  const pause = await longestPauseMs(node.opsUrl);
  await node.remove();
  await stage.clear();
  const peer = await postfix(say);
  const rows: Row[] = [
    {
      ...{ what: "inbound: taken (3 kB, durable, with events)", value: taken, unit: "/s" },
      ...(peer && { beside: { what: "Postfix, taken into its queue", value: peer } }),
    },
    { what: "inbound: resident memory", value: memory, unit: "MiB" },
    { what: "inbound: longest pause of the event loop", value: pause, unit: "ms" },
  ];
  return rows;
};

/** Postfix with its own defaults, which takes the same messages and discards them afterwards. */
async function postfix(say: (text: string) => void): Promise<number | undefined> {
  if (withoutPostfix) {
    say(withoutPostfix);
    return undefined;
  }
  say(`the same ${messages} to Postfix …`);
  const peer = await startPostfix({ hostname: "mx.there.test", routes: { [senderDomain]: "discard" } });
  try {
    const load = { port: peer.port, to: `us@${senderDomain}`, message: letter, connections };
    await runSmtpLoad({ ...load, count: 300 });
    return await runSmtpLoad({ ...load, count: messages });
  } finally {
    await peer.stop();
  }
}

/** A reply as people write it: text and HTML, about 3 kB. */
function letter(i: number): string {
  const text = "Thank you, that works for me. See you on Monday then.\r\n".repeat(18);
  return [
    "From: Ann <ann@there.test>",
    `To: us@${senderDomain}`,
    `Subject: Letter ${i}`,
    `Message-ID: <letter.${i}@there.test>`,
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
    `<p>${text}</p>`,
    "--=_b--",
  ].join("\r\n");
}

if (import.meta.main) await runAlone(benchInbound);
