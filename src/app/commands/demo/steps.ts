/** The steps of posthorn demo, in order. Each runs against the started program and prints its result, or throws. */
import { setTimeout as delay } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { readMessage } from "../../../mail/message/read.ts";
import { silentLog } from "../../../ops/log.ts";
import { assemble, type Program } from "../../assemble.ts";
import { readConfig } from "../../config.ts";
import { color } from "../../output.ts";
import { type Api, createApi, type SendAnswer, type StreamAnswer } from "../api-client.ts";
import { showEventShortly } from "../event-line.ts";
import { type DemoNetwork, receiverDomain, resourceRecord, type WireRecord } from "./network.ts";

/** What the steps share; each fills in its results. */
export type DemoContext = {
  network: DemoNetwork;
  dataDir: string;
  print(line: string): void;
  /** The events of the stream so far. */
  events: StreamAnswer[];
  /** Set when the start begins, so that an interrupted start is still stopped. */
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

const zone = "mail.acme.test";
const sender = "acme.test";
const receipt = Buffer.from("1 post horn, brass ........ 12.00 EUR\n");

export const steps: { title: string; run(context: DemoContext): Promise<void> }[] = [
  { title: "Start Posthorn with its embedded PostgreSQL", run: start },
  { title: "Register a domain", run: register },
  { title: "Publish its records at a DNS provider", run: publish },
  { title: "Verify the records", run: verify },
  { title: "Open the event stream", run: listen },
  { title: "Send an email with an attachment to three recipients", run: send },
  { title: "Ada's mail server receives and checks it", run: inspect },
  { title: "Grace's server defers it once", run: retried },
  { title: "The third address bounces", run: bounced },
  { title: "Ada replies, and the reply is matched to its email", run: reply },
];

async function start(context: DemoContext): Promise<void> {
  const { network, dataDir } = context;
  const local = "127.0.0.1:0";
  const config = readConfig({
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_HTTP: local,
    POSTHORN_SMTP: local,
    POSTHORN_SUBMISSION: "off",
    POSTHORN_SUBMISSIONS: "off",
    POSTHORN_DNS: local,
    POSTHORN_OPS: local,
    POSTHORN_ZONE: zone,
    POSTHORN_PUBLIC_IPS: "127.0.0.1",
    POSTHORN_DELIVERY: "direct",
    POSTHORN_RESOLVERS: `127.0.0.1:${network.dnsPort}`,
    POSTHORN_NS_PORT: String(network.dnsPort),
    POSTHORN_MX_PORT: String(network.mailPort),
    POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8",
    POSTHORN_RETRY_SCHEDULE_MS: "1000",
    POSTHORN_DRAIN_MS: "2000",
  });
  context.starting = assemble(config, silentLog());
  context.program = await context.starting;
  const { ports, first } = context.program;
  network.delegate(zone, ports.dns!);
  context.api = createApi({ url: `http://127.0.0.1:${ports.http}`, key: first.newKey! });
  context.print(
    `API on port ${ports.http}, SMTP on ${ports.smtp}, DNS for ${zone} on ${ports.dns}; first key created.`,
  );
}

async function register(context: DemoContext): Promise<void> {
  const { domain } = await context.api!.call<{ domain: WireDomain }>("DomainService/AddDomain", { domain: sender });
  context.domain = domain;
  for (const { type, name, value } of recordsOf(domain)) context.print(`${type.padEnd(6)}${name.padEnd(28)}${value}`);
}

async function publish(context: DemoContext): Promise<void> {
  const records = recordsOf(context.domain!).map(resourceRecord);
  context.network.publish(sender, records);
  context.print(
    `${records.length} records of ${sender} are served on 127.0.0.1:${context.network.dnsPort}, as a real provider would.`,
  );
}

async function verify(context: DemoContext): Promise<void> {
  const { domain } = await context.api!.call<{ domain: WireDomain }>("DomainService/VerifyDomain", {
    id: context.domain!.id,
  });
  const { canSend, canReceive } = domain.summary;
  if (domain.status !== "DOMAIN_STATUS_READY" || !canSend || !canReceive)
    throw new Error(`${sender} is not ready: ${JSON.stringify(domain, null, 2)}`);
  context.print(`${sender} is ${color("green", "READY")}: it can send and receive.`);
}

async function listen(context: DemoContext): Promise<void> {
  const ended = new AbortController();
  const reading = (async () => {
    for await (const message of context.api!.stream<StreamAnswer>(
      "EmailService/StreamEvents",
      { cursor: "0" },
      ended.signal,
    )) {
      context.events.push(message);
      if (message.event)
        context.print(`${color("gray", "event")} ${message.cursor}  ${showEventShortly(message.event)}`);
    }
  })().catch((error) => {
    if (!ended.signal.aborted) context.print(`The stream ended: ${(error as Error).message}`);
  });
  context.stream = {
    async stop() {
      ended.abort();
      await reading;
    },
  };
  await eventOf(context, "domain.updated", () => true);
}

async function send(context: DemoContext): Promise<void> {
  context.sent = await context.api!.call<SendAnswer>("EmailService/SendEmail", {
    from: `Acme Orders <orders@${sender}>`,
    to: [`Ada <ada@${receiverDomain}>`],
    cc: [`grace@${receiverDomain}`, `unknown@${receiverDomain}`],
    subject: "Your order 1042",
    body: "Thank you! The receipt is attached.",
    html: "<p>Thank you! The receipt is attached.</p>",
    attachments: [{ filename: "receipt.txt", contentType: "text/plain", base64Content: receipt.toString("base64") }],
    metadata: { order: "1042" },
  });
  context.print(
    `${context.sent.id} is ${context.sent.status.replace("EMAIL_STATUS_", "")}: ${context.sent.statusMessage}`,
  );
}

async function inspect(context: DemoContext): Promise<void> {
  await eventOf(context, "email.delivered", (event) =>
    recipientsOf(event, "delivered").includes(`ada@${receiverDomain}`),
  );
  const { mail, verdicts } = context.network.received.find(({ mail }) =>
    mail.recipients.includes(`ada@${receiverDomain}`),
  )!;
  const { spf, dkim, dmarc } = verdicts;
  if ([spf, dkim, dmarc].some((verdict) => verdict !== "pass"))
    throw new Error(`not authenticated: ${JSON.stringify(verdicts)}`);
  const read = await readMessage(mail.message);
  const file = read.parts.find(({ filename }) => filename === "receipt.txt");
  if (!file?.content.equals(receipt)) throw new Error("the attachment differs from the file that was sent");
  context.print(
    `Received over ${mail.client.tls?.protocol ?? "an unencrypted connection"} from ${mail.client.helo}, ${mail.message.length} bytes.`,
  );
  context.print(`SPF ${spf}, DKIM ${dkim}, DMARC ${dmarc}; receipt.txt is identical to the file that was sent.`);
}

async function retried(context: DemoContext): Promise<void> {
  const about = (field: string) => (event: Event) => recipientsOf(event, field).includes(`grace@${receiverDomain}`);
  await eventOf(context, "email.delayed", about("delayed"));
  await eventOf(context, "email.delivered", about("delivered"));
  context.print("The server answered 451 first, and accepted the retry.");
}

async function bounced(context: DemoContext): Promise<void> {
  await eventOf(context, "email.bounced", (event) =>
    recipientsOf(event, "bounced").includes(`unknown@${receiverDomain}`),
  );
  const { data } = await context.api!.call<{ data: { address: string }[] }>("SuppressionService/ListSuppressions", {});
  if (!data.some(({ address }) => address === `unknown@${receiverDomain}`))
    throw new Error("the address is not suppressed");
  context.print(`unknown@${receiverDomain} is now on the suppression list and gets no more mail.`);
}

/** Sends like Ada's own mail server: to the MX host of our domain. */
async function reply(context: DemoContext): Promise<void> {
  const { network, sent, program } = context;
  const mx = await network.resolver.lookup(sender, "MX");
  if (mx.kind !== "found") throw new Error(`${sender} has no MX`);
  const { exchange } = mx.records[0]!;
  const address = await network.resolver.lookup(exchange, "A");
  if (address.kind !== "found") throw new Error(`${exchange} has no address`);
  const transport = createTransport({
    host: address.records[0]!.address,
    port: program!.ports.smtp!,
    name: `mx.${receiverDomain}`,
    tls: { rejectUnauthorized: false },
  });
  await transport.sendMail({
    from: `Ada <ada@${receiverDomain}>`,
    to: `orders@${sender}`,
    subject: "Re: Your order 1042",
    text: "It sounds wonderful. Can I have a second one?\n\nOn Monday, Acme Orders wrote:\n> Thank you! The receipt is attached.\n",
    inReplyTo: sent!.messageId,
    references: sent!.messageId,
  });
  transport.close();
  context.print(`Ada's server found ${exchange} in the MX record and sent the reply there.`);
  const event = await eventOf(context, "email.replied", () => true);
  const { newText, parentEmailId } = event.replied as { newText: string; parentEmailId: string };
  const { order } = (event.metadata ?? {}) as { order?: string };
  if (parentEmailId !== sent!.id || order !== "1042")
    throw new Error(`the reply is not linked to its email: ${JSON.stringify(event)}`);
  context.print(`"${newText}" belongs to order ${order}, according to the metadata of the original email.`);
}

type Event = NonNullable<StreamAnswer["event"]>;

/** The first matching event of this type, as soon as it is in the stream. */
async function eventOf(context: DemoContext, type: string, matches: (event: Event) => boolean): Promise<Event> {
  for (;;) {
    const found = context.events.find(({ event }) => event?.type === type && matches(event))?.event;
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
