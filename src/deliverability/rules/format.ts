/** Rules about the format of the message: RFC 5322 and the limits of receivers. judge.ts calls them. */

import { singleFields } from "../../mail/header-fields.ts";
import { parseMessageId } from "../../mail/message-id.ts";
import { parseMailboxes } from "../../mail/submitted/mailboxes.ts";
import {
  type Facts,
  fail,
  isUnanswered,
  type MessageFacts,
  pass,
  sentence,
  unknown,
  type Verdict,
  warn,
} from "./facts.ts";

/** Applies a rule to the composed sample. */
function ofMessage(rule: (message: MessageFacts, facts: Facts) => Verdict): (facts: Facts) => Verdict {
  return (facts) =>
    isUnanswered(facts.message) ? unknown(sentence(facts.message.unanswered)) : rule(facts.message, facts);
}

/** Longer values are cut: the patterns of the rules must not run for long on a hostile message. */
const maxValue = 4096;

export function valuesOf({ fields }: MessageFacts, name: string): string[] {
  return fields
    .filter((field) => field.name.toLowerCase() === name)
    .map(({ value }) => unfold(value.slice(0, maxValue)));
}

export const judgeSingleFields = ofMessage((message) => {
  const repeated = [...singleFields].filter((name) => valuesOf(message, name).length > 1);
  if (repeated.length === 0) return pass("No header field occurs twice that may occur once.");
  return fail(`The header has ${repeated.join(", ")} more than once.`, "Keep one of each.");
});

export const judgeFromAddress = ofMessage((message) => {
  const values = valuesOf(message, "from");
  if (values.length === 0) return fail("The header has no From field.", "Add one with the sender's address.");
  const addresses = values.flatMap((value) => parseMailboxes(value));
  if (addresses.length === 1) return pass(`From is ${addresses[0]!.address}.`);
  if (addresses.length > 1)
    return fail(`From has ${addresses.length} addresses.`, "Write one address. The others may be in Reply-To.");
  return fail("From has no address that receivers can read.", "Write it as Name <name@example.com>.");
});

/** RFC 5322 §3.3, without the obsolete forms. */
const dateForm =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\s+)?\d{1,2}\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{4}\s+\d{2}:\d{2}(?::\d{2})?\s+[+-]\d{4}(?:\s+\([^()]*\))?$/i;

export const judgeDate = ofMessage((message) => {
  const [date] = valuesOf(message, "date");
  if (date === undefined) return fail("The header has no Date field.", "Add one with the time of sending.");
  if (!dateForm.test(date))
    return fail(`Date is ${JSON.stringify(date.slice(0, 60))}.`, "Write it as in Wed, 18 Nov 2026 14:00:00 +0000.");
  return pass(`Date is ${date}.`);
});

export const judgeMessageId = ofMessage((message) => {
  const [id] = valuesOf(message, "message-id");
  if (id === undefined) return fail("The header has no Message-ID.", "Add one, such as <number@your-domain>.");
  const read = parseMessageId(id);
  const fix = "Write it as <unique-text@your-domain>.";
  if (!read.ok) return fail(sentence(`Message-ID ${read.reason}`), fix);
  if (!id.includes("@")) return fail("Message-ID has no @.", fix);
  return pass("The message has a valid Message-ID.");
});

const maxLine = 998;

export const judgeLineLength = ofMessage(({ longestLine, hasBareLineEnds }) => {
  if (hasBareLineEnds)
    return fail("The message has a CR or LF that is not part of a CRLF.", "End every line with CRLF.");
  if (longestLine <= maxLine) return pass(`The longest line has ${longestLine} bytes; ${maxLine} are allowed.`);
  return fail(
    `A line has ${longestLine} bytes; RFC 5322 allows ${maxLine}.`,
    "Encode the part as quoted-printable or base64, or fold the header field.",
  );
});

export const judgeHeaderEncoding = ofMessage(({ hasRawHeader }) => {
  if (!hasRawHeader) return pass("The header is ASCII; other characters are encoded.");
  return fail("The header contains characters outside ASCII.", "Encode them as RFC 2047 says.");
});

const megabyte = 1_000_000;
/** Bytes of the message, by the receiver's published figure. */
export const sizeLimits = [
  { name: "Yahoo", bytes: 25 * megabyte },
  { name: "Outlook.com", bytes: 25 * megabyte },
  { name: "Gmail", bytes: 50 * megabyte },
];

export const judgeSize = ofMessage(({ sizeBytes }) => {
  const shown = sizeBytes < megabyte ? `${Math.ceil(sizeBytes / 1000)} kB` : `${(sizeBytes / megabyte).toFixed(1)} MB`;
  const over = sizeLimits.filter(({ bytes }) => sizeBytes > bytes);
  if (over.length > 0) {
    const limits = over.map(({ name, bytes }) => `${name} accepts ${bytes / megabyte} MB`).join(", ");
    return fail(
      `The message has ${shown}; ${limits}.`,
      "Send links to large files. Attachments grow by a third in mail.",
    );
  }
  return pass(`The message has ${shown}.`);
});

export const judgeTextPart = ofMessage(({ text, html }) => {
  if (text.trim() !== "")
    return pass(html === "" ? "The message is plain text." : "The message has text next to its HTML.");
  if (html === "") return warn("The message has no text.", "Set body.");
  return warn(
    "The message is HTML only. Spam filters count that against it.",
    "Set body to the same content as plain text.",
  );
});

function unfold(value: string): string {
  return value.replace(/\r\n(?=[ \t])/g, "").trim();
}
