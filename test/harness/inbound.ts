/** Helpers for tests of inbound mail: a testbed whose domain receives, an SMTP client, and return paths with valid tokens. */
import { createTransport } from "nodemailer";
import { makeCopyToken, makeReturnPath, makeSharedReturnPath } from "../../src/mail/return-path.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { testSecret } from "./program.ts";
import { senderDomain, startTestbed, type Testbed, type TestbedOptions, type WireEvent } from "./testbed.ts";

export const zone = "mail.posthorn.test";
export const feedbackAddress = `complaints@feedback.${zone}`;

export type InboundTestbed = Testbed & { smtpPort: number };

export async function startInboundTestbed(options: TestbedOptions = {}): Promise<InboundTestbed> {
  const testbed = await startTestbed(options);
  await enableReceiving(testbed, senderDomain);
  return Object.assign(testbed, { smtpPort: testbed.program.ports.smtp! });
}

/** Marks a domain as able to receive, as a successful check of its MX record does. */
export async function enableReceiving(testbed: Testbed, domain: string): Promise<void> {
  await testbed.database.sql`update domains set can_receive = true, control_proved_at = now() where domain = ${domain}`;
}

export type InboundMail = { from?: string; to: string | string[]; raw: string | Buffer; port?: number };

/** Delivers a message with nodemailer's SMTP client. Resolves with the server's last reply, or rejects with its error reply. */
export async function deliverInbound(
  testbed: InboundTestbed,
  { from = "ann@there.test", to, raw, port }: InboundMail,
): Promise<string> {
  const transport = createTransport({
    host: "127.0.0.1",
    port: port ?? testbed.smtpPort,
    ignoreTLS: true,
    name: "mx.there.test",
  });
  try {
    const bytes = typeof raw === "string" ? raw.replace(/\r?\n/g, "\r\n") : raw;
    const info = await transport.sendMail({ envelope: { from, to }, raw: bytes });
    return info.response;
  } finally {
    transport.close();
  }
}

const domain = `bounce.${zone}`;
const key = createSecrets(testSecret).derive("return path v1");

/** The return path of a recipient of an email, as delivery generates it; by default of the first one. */
export function returnPathOf(emailId: string, position = 0): string {
  return makeReturnPath({ emailId, position, domain, key });
}

/** The token in the header field of a recipient's copy. */
export function copyTokenOf(emailId: string, position = 0): string {
  return makeCopyToken({ emailId, position, key });
}

/** The return path of an email as earlier releases generated it, the same for all of its recipients. */
export function sharedReturnPathOf(emailId: string): string {
  return makeSharedReturnPath({ emailId, domain, key });
}

/** The payloads of all events of one type, each with its event. */
export function eventsOfType(
  events: readonly WireEvent[],
  type: string,
): (Record<string, unknown> & { event: WireEvent["event"] })[] {
  const field = type.replace(/^email\./, "");
  return events
    .filter(({ event }) => event.type === type)
    .map(({ event }) => ({ ...(event[field] as Record<string, unknown>), event }));
}
