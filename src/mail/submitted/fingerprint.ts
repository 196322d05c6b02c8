/** Recognizes a submitted message that is sent again. Used by prepare.ts. */
import { createHash } from "node:crypto";
import { ShapeProblem, structureOf } from "../message/structure.ts";
import { splitMessage } from "./fields.ts";

/** The digest of exactly this message to these recipients: of a client that repeats it after it lost the connection. */
export function exactDigest(raw: Buffer, recipients: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(recipients)).update("\0").update(raw).digest("base64url");
}

/**
 * The digest of the content, for a program that sends an email again with the same idempotency key. Mail libraries write another date,
 * Message-ID and boundaries each time. `options` is what the fields for Posthorn say.
 */
export function contentDigest(message: Buffer, options: object, recipients: readonly string[]): string {
  const { fields, body } = splitMessage(message);
  const kept = fields.filter(({ key }) => key !== "date" && key !== "message-id").map(({ text }) => text);
  let text = `${kept.join("")}\r\n${body.toString("latin1")}`;
  for (const [i, boundary] of boundariesOf(message).entries())
    for (const form of [`\n--${boundary}`, `="${boundary}"`, `=${boundary}`])
      text = text.replaceAll(form, `=boundary ${i}`);
  const hash = createHash("sha256").update(JSON.stringify([options, [...recipients].sort()]));
  return hash.update("\0").update(text, "latin1").digest("base64url");
}

/** In the order of the message, except that a boundary comes before its own beginnings. */
function boundariesOf(message: Buffer): string[] {
  try {
    const found = structureOf(message).multiparts.flatMap(({ header }) => header.boundary?.toString("latin1") ?? []);
    return [...new Set(found)].sort((a, b) => (a.startsWith(b) ? -1 : b.startsWith(a) ? 1 : 0));
  } catch (error) {
    if (error instanceof ShapeProblem) return [];
    throw error;
  }
}
