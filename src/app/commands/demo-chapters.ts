/** The chapters of posthorn demo, in order. Each does its part against the running program and says what came of it, or throws. */
import { setTimeout as delay } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { readMessage } from "../../mail/message/read.ts";
import { silentLog } from "../../ops/log.ts";
import { assemble, type Program } from "../assemble.ts";
import { readConfig } from "../config.ts";
import { colour } from "../terminal.ts";
import { resourceRecord, type WireRecord } from "./demo-records.ts";
import { type DemoWorld, friends } from "./demo-world.ts";
import { showEventShortly } from "./event-line.ts";
import type { SendAnswer, StreamAnswer } from "./reach.ts";
import { type Api, createApi } from "./reach-api.ts";

export type Stage = {
  world: DemoWorld;
  dataDir: string;
  say(line: string): void;
  /** What the stream has brought so far. */
  events: StreamAnswer[];
  /** Set as soon as the start begins, so that an interrupted one is still ended. */
  starting?: Promise<Program>;
  program?: Program;
  api?: Api;
  stream?: { stop(): Promise<void> };
  domain?: WireDomain;
  sent?: SendAnswer;
};

type WireDomain = {
  id: string;
  domain: string;
  status: string;
  records: Record<string, WireRecord | WireRecord[]>;
  summary: { canSend: boolean; canReceive: boolean };
};

export const zone = "mail.acme.test";
const sender = "acme.test";
const receipt = Buffer.from("1 post horn, brass ........ 12.00 EUR\n");

export const chapters: { title: string; play(stage: Stage): Promise<void> }[] = [
  { title: "Posthorn starts, with a PostgreSQL of its own", play: start },
  { title: "A domain is registered", play: register },
  { title: "Its records are published at a DNS provider", play: publish },
  { title: "Posthorn looks them up", play: verify },
  { title: "We listen to the events", play: listen },
  { title: "An email with an attachment goes to three people", play: send },
  { title: "Ada's mail server has it, and checks it", play: inspect },
  { title: "Grace's server wanted a second try", play: retried },
  { title: "The third address does not exist", play: bounced },
  { title: "Ada answers, and the answer finds its email", play: reply },
];

async function start(stage: Stage): Promise<void> {
  const { world, dataDir } = stage;
  const local = "127.0.0.1:0";
  const config = readConfig({
    ...{
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_HTTP: local,
      POSTHORN_SMTP: local,
      POSTHORN_DNS: local,
      POSTHORN_OPS: local,
    },
    ...{ POSTHORN_ZONE: zone, POSTHORN_PUBLIC_IPS: "127.0.0.1", POSTHORN_DELIVERY: "direct" },
    ...{ POSTHORN_RESOLVERS: `127.0.0.1:${world.dnsPort}`, POSTHORN_NS_PORT: String(world.dnsPort) },
    ...{ POSTHORN_MX_PORT: String(world.mailPort), POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8" },
    ...{ POSTHORN_RETRY_SCHEDULE_MS: "1000", POSTHORN_DRAIN_MS: "2000" },
  });
  stage.starting = assemble(config, silentLog());
  stage.program = await stage.starting;
  const { ports, first } = stage.program;
  world.delegate(zone, ports.dns!);
  stage.api = createApi({ url: `http://127.0.0.1:${ports.http}`, key: first.newKey! });
  stage.say(`API on port ${ports.http}, SMTP on ${ports.smtp}, DNS for ${zone} on ${ports.dns}; a first key is made.`);
}

async function register(stage: Stage): Promise<void> {
  const { domain } = await stage.api!.call<{ domain: WireDomain }>("DomainService/AddDomain", { domain: sender });
  stage.domain = domain;
  for (const { type, name, value } of recordsOf(domain)) stage.say(`${type.padEnd(6)}${name.padEnd(28)}${value}`);
}

async function publish(stage: Stage): Promise<void> {
  const records = recordsOf(stage.domain!).map(resourceRecord);
  stage.world.publish(sender, records);
  stage.say(
    `${records.length} records of ${sender} are served on 127.0.0.1:${stage.world.dnsPort}, as by anybody's provider.`,
  );
}

async function verify(stage: Stage): Promise<void> {
  const { domain } = await stage.api!.call<{ domain: WireDomain }>("DomainService/VerifyDomain", {
    id: stage.domain!.id,
  });
  const { canSend, canReceive } = domain.summary;
  if (domain.status !== "DOMAIN_STATUS_READY" || !canSend || !canReceive)
    throw new Error(`${sender} is not ready: ${JSON.stringify(domain, null, 2)}`);
  stage.say(`${sender} is ${colour("green", "READY")}: it can send and receive.`);
}

async function listen(stage: Stage): Promise<void> {
  const ended = new AbortController();
  const reading = (async () => {
    for await (const message of stage.api!.stream<StreamAnswer>(
      "EmailService/StreamEvents",
      { cursor: "0" },
      ended.signal,
    )) {
      stage.events.push(message);
      if (message.event) stage.say(`${colour("gray", "event")} ${message.cursor}  ${showEventShortly(message.event)}`);
    }
  })().catch((error) => {
    if (!ended.signal.aborted) stage.say(`the stream ended: ${(error as Error).message}`);
  });
  stage.stream = {
    async stop() {
      ended.abort();
      await reading;
    },
  };
  await eventOf(stage, "domain.updated", () => true);
}

async function send(stage: Stage): Promise<void> {
  stage.sent = await stage.api!.call<SendAnswer>("EmailService/SendEmail", {
    from: `Acme Orders <orders@${sender}>`,
    to: [`Ada <ada@${friends}>`],
    cc: [`grace@${friends}`, `nobody@${friends}`],
    subject: "Your order 1042",
    body: "Thank you! The receipt is attached.",
    html: "<p>Thank you! The receipt is attached.</p>",
    attachments: [{ filename: "receipt.txt", contentType: "text/plain", base64Content: receipt.toString("base64") }],
    metadata: { order: "1042" },
  });
  stage.say(`${stage.sent.id} is ${stage.sent.status.replace("EMAIL_STATUS_", "")}: ${stage.sent.statusMessage}`);
}

async function inspect(stage: Stage): Promise<void> {
  await eventOf(stage, "email.delivered", (event) => recipientsOf(event, "delivered").includes(`ada@${friends}`));
  const { mail, verdicts } = stage.world.taken.find(({ mail }) => mail.recipients.includes(`ada@${friends}`))!;
  const { spf, dkim, dmarc } = verdicts;
  if ([spf, dkim, dmarc].some((verdict) => verdict !== "pass"))
    throw new Error(`not authenticated: ${JSON.stringify(verdicts)}`);
  const read = await readMessage(mail.message);
  const file = read.parts.find(({ filename }) => filename === "receipt.txt");
  if (!file?.content.equals(receipt)) throw new Error("the attachment did not arrive as it was sent");
  stage.say(
    `It came over ${mail.client.tls?.protocol ?? "an open line"} from ${mail.client.helo}, ${mail.message.length} bytes.`,
  );
  stage.say(`SPF ${spf}, DKIM ${dkim}, DMARC ${dmarc}; receipt.txt is byte for byte what was sent.`);
}

async function retried(stage: Stage): Promise<void> {
  const about = (field: string) => (event: Event) => recipientsOf(event, field).includes(`grace@${friends}`);
  await eventOf(stage, "email.delayed", about("delayed"));
  await eventOf(stage, "email.delivered", about("delivered"));
  stage.say("It was told to come again (451), came again, and was let in.");
}

async function bounced(stage: Stage): Promise<void> {
  await eventOf(stage, "email.bounced", (event) => recipientsOf(event, "bounced").includes(`nobody@${friends}`));
  const { data } = await stage.api!.call<{ data: { address: string }[] }>("SuppressionService/ListSuppressions", {});
  if (!data.some(({ address }) => address === `nobody@${friends}`)) throw new Error("the address is not suppressed");
  stage.say(`nobody@${friends} is on the suppression list now: nothing more is sent there.`);
}

/** As Ada's own mail server would: by the MX record of our domain. */
async function reply(stage: Stage): Promise<void> {
  const { world, sent, program } = stage;
  const mx = await world.resolver.lookup(sender, "MX");
  if (mx.kind !== "found") throw new Error(`${sender} has no MX`);
  const { exchange } = mx.records[0]!;
  const address = await world.resolver.lookup(exchange, "A");
  if (address.kind !== "found") throw new Error(`${exchange} has no address`);
  const transport = createTransport({
    ...{ host: address.records[0]!.address, port: program!.ports.smtp!, name: `mx.${friends}` },
    tls: { rejectUnauthorized: false },
  });
  await transport.sendMail({
    from: `Ada <ada@${friends}>`,
    to: `orders@${sender}`,
    subject: "Re: Your order 1042",
    text: "It sounds wonderful. Can I have a second one?\n\nOn Monday, Acme Orders wrote:\n> Thank you! The receipt is attached.\n",
    inReplyTo: sent!.messageId,
    references: sent!.messageId,
  });
  transport.close();
  stage.say(`Ada's server found ${exchange} by the MX record and brought the answer there.`);
  const event = await eventOf(stage, "email.replied", () => true);
  const { newText, parentEmailId } = event.replied as { newText: string; parentEmailId: string };
  const { order } = (event.metadata ?? {}) as { order?: string };
  if (parentEmailId !== sent!.id || order !== "1042") throw new Error(`not in its thread: ${JSON.stringify(event)}`);
  stage.say(`"${newText}" belongs to order ${order}, says the metadata of the email it answers.`);
}

type Event = NonNullable<StreamAnswer["event"]>;

/** The first event of a type that fits, as soon as the stream has brought it. */
async function eventOf(stage: Stage, type: string, fits: (event: Event) => boolean): Promise<Event> {
  for (;;) {
    const found = stage.events.find(({ event }) => event?.type === type && fits(event))?.event;
    if (found) return found;
    await delay(20);
  }
}

function recipientsOf(event: Event, field: string): string[] {
  return ((event[field] as { recipients?: string[] } | undefined)?.recipients ?? []).map((address) =>
    address.toLowerCase(),
  );
}

function recordsOf(domain: WireDomain): WireRecord[] {
  return Object.values(domain.records).flat();
}
