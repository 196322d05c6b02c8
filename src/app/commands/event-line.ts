/** An event as one line of text. Used by posthorn events and posthorn demo. */
import { color, plain, type Tone } from "../output.ts";
import type { WireEvent } from "./api-client.ts";

const tones: Record<string, Tone> = {
  "email.delivered": "green",
  "email.sent": "green",
  "email.replied": "cyan",
  "email.received": "cyan",
  "email.delayed": "yellow",
  "email.suppressed": "yellow",
  "email.unsubscribed": "yellow",
  "domain.report": "yellow",
  "email.canceled": "yellow",
  "email.bounced": "red",
  "email.failed": "red",
  "email.complained": "red",
  "webhook.disabled": "red",
};

export function showEvent(cursor: string, event: WireEvent): string {
  const time = event.createdAt.replace("T", " ").slice(0, 19);
  const { subject, detail } = describe(event);
  return [plain(cursor).padStart(4), plain(time), typeOf(event), subject, plain(event.emailId), detail]
    .filter((word) => word !== "")
    .join("  ");
}

/** Without cursor, time and email id, for output that shows them elsewhere. */
export function showEventShortly(event: WireEvent): string {
  const { subject, detail } = describe(event);
  return [typeOf(event), subject, detail].filter((word) => word !== "").join("  ");
}

function typeOf({ type }: WireEvent): string {
  return color(tones[type] ?? "bold", plain(type).padEnd(15));
}

/** The recipient, domain or URL that the event concerns, and the reply, reason or status, from the type's own payload fields. */
function describe(event: WireEvent): { subject: string; detail: string } {
  const field = event.type.replace(/^email\./, "").replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase());
  const payload = (event[field] ?? {}) as Record<string, unknown>;
  const { recipients, from, domain, url, smtpReply, reason, subject: title, status, ip, messages } = payload;
  const subject =
    Array.isArray(recipients) && recipients.length > 0 ? recipients.join(", ") : (from ?? domain ?? url ?? "");
  const source = event.type === "domain.report" ? `${messages} messages from ${ip} failed DMARC` : "";
  return { subject: firstLine(subject), detail: firstLine(smtpReply || reason || title || status || source) };
}

/** Remote servers wrote this text: control characters must not reach the terminal. */
function firstLine(text: unknown): string {
  const [line = ""] = String(text).split("\n");
  return plain(line.trimEnd()).slice(0, 200);
}
