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
  const type = colour(tones[event.type] ?? "bold", event.type.padEnd(16));
  return [cursor.padStart(4), time, type, ...whatHappened(event)].filter((word) => word !== "").join("  ");
}

/** Whom it is about and what was said, whatever the type calls it. */
export function whatHappened(event: WireEvent): string[] {
  const field = event.type.replace(/^email\./, "").replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase());
  const payload = (event[field] ?? {}) as Record<string, unknown>;
  const { recipients, from, domain, url, smtpReply, reason, subject, status } = payload;
  const whom =
    Array.isArray(recipients) && recipients.length > 0 ? recipients.join(", ") : (from ?? domain ?? url ?? "");
  return [firstLine(whom), event.emailId, firstLine(smtpReply || reason || subject || status || "")];
}

/** Others wrote it: no control character of theirs reaches the terminal. */
function firstLine(text: unknown): string {
  const [line = ""] = String(text).split("\n");
  return line.replace(/\p{Cc}/gu, "").slice(0, 200);
}
