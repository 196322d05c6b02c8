/** An event as one line for people. Used by posthorn events and posthorn demo. */
import { colour, type Tone } from "../terminal.ts";
import type { WireEvent } from "./reach.ts";

const tones: Record<string, Tone> = {
  "email.delivered": "green",
  "email.sent": "green",
  "email.replied": "cyan",
  "email.received": "cyan",
  "email.delayed": "yellow",
  "email.suppressed": "yellow",
  "email.canceled": "yellow",
  "email.bounced": "red",
  "email.failed": "red",
  "email.complained": "red",
  "webhook.disabled": "red",
};

export function showEvent(cursor: string, event: WireEvent): string {
  const time = event.createdAt.replace("T", " ").slice(0, 19);
  const { whom, said } = whatHappened(event);
  return [cursor.padStart(4), time, typeOf(event), whom, event.emailId, said].filter((word) => word !== "").join("  ");
}

/** Where the time and the email are clear from what stands around it. */
export function showEventShortly(event: WireEvent): string {
  const { whom, said } = whatHappened(event);
  return [typeOf(event), whom, said].filter((word) => word !== "").join("  ");
}

function typeOf({ type }: WireEvent): string {
  return colour(tones[type] ?? "bold", type.padEnd(15));
}

/** Whom it is about and what was said, whatever the type calls it. */
function whatHappened(event: WireEvent): { whom: string; said: string } {
  const field = event.type.replace(/^email\./, "").replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase());
  const payload = (event[field] ?? {}) as Record<string, unknown>;
  const { recipients, from, domain, url, smtpReply, reason, subject, status } = payload;
  const whom =
    Array.isArray(recipients) && recipients.length > 0 ? recipients.join(", ") : (from ?? domain ?? url ?? "");
  return { whom: firstLine(whom), said: firstLine(smtpReply || reason || subject || status || "") };
}

/** Others wrote it: no control character of theirs reaches the terminal. */
function firstLine(text: unknown): string {
  const [line = ""] = String(text).split("\n");
  return line.replace(/\p{Cc}/gu, "").slice(0, 200);
}
