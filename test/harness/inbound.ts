/** What inbound journeys need: a world whose domain receives, a way to bring it mail, and the token that our own return paths carry. */
import { createTransport } from "nodemailer";
import { makeReturnPath } from "../../src/mail/return-path.ts";
import { createSecrets } from "../../src/store/secrets.ts";
import { testSecret } from "./program.ts";
import { senderDomain, startWorld, type WireEvent, type World, type WorldOptions } from "./world.ts";

export const zone = "mail.posthorn.test";
export const feedbackAddress = `complaints@feedback.${zone}`;

export type InboundWorld = World & { smtpPort: number };

export async function startInboundWorld(options: WorldOptions = {}): Promise<InboundWorld> {
  const world = await startWorld(options);
  await receives(world, senderDomain);
  return Object.assign(world, { smtpPort: world.program.ports.smtp! });
}

/** As a passed check with the MX record leaves it behind. */
export async function receives(world: World, domain: string): Promise<void> {
  await world.database.sql`update domains set can_receive = true, control_proved_at = now() where domain = ${domain}`;
}

export type Letter = { from?: string; to: string | string[]; raw: string | Buffer; port?: number };

/** Brings a message by nodemailer's SMTP client; resolves with the server's last reply, rejects with its refusal. */
export async function bring(world: InboundWorld, { from = "ann@there.test", to, raw, port }: Letter): Promise<string> {
  const transport = createTransport({
    host: "127.0.0.1",
    port: port ?? world.smtpPort,
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

/** The address that an email's bounces go to, as delivery makes it. */
export function returnPathOf(emailId: string, domain = `bounce.${zone}`): string {
  return makeReturnPath({ emailId, domain, key: createSecrets(testSecret).derive("return path v1") });
}

/** Events about inbound mail, with their payloads unwrapped. */
export function told(
  events: readonly WireEvent[],
  type: string,
): (Record<string, unknown> & { event: WireEvent["event"] })[] {
  const field = type.replace(/^email\./, "");
  return events
    .filter(({ event }) => event.type === type)
    .map(({ event }) => ({ ...(event[field] as Record<string, unknown>), event }));
}
