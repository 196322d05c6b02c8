/** Message-IDs: the one that follows from an email's id, and bounded reading of those in threading headers. */

export type MessageIdResult = { ok: true; messageId: string } | { ok: false; reason: string };

/** RFC 5322 §3.6.4: unique because the email's id is; the same for every attempt. */
export function makeMessageId(emailId: string, domain: string): string {
  return `<${uuidOf(emailId)}@${domain}>`;
}

/** The email that one of our Message-IDs names, undefined for any other. It is a hint: anybody may write such an id. */
export function readMessageId(messageId: string): { emailId: string; domain: string } | undefined {
  const match = OURS.exec(messageId);
  if (match === null) return undefined;
  return { emailId: `em_${match[1]!.toLowerCase()}`, domain: match[2]!.toLowerCase() };
}

/** One id as a caller writes it, with or without its angle brackets. */
export function parseMessageId(text: string): MessageIdResult {
  // Before anything else looks at it: a pattern over a long row of spaces takes the square of its length.
  if (text.length > MAX_LENGTH * 2) return tooLong(text.length);
  const trimmed = text.replace(/^ +| +$/g, "");
  const messageId = trimmed.startsWith("<") ? trimmed : `<${trimmed}>`;
  if (messageId.length > MAX_LENGTH) return tooLong(messageId.length);
  if (!ONE_ID.test(messageId)) {
    return {
      ok: false,
      reason: "The Message-ID must be one id such as <abc@example.com>, in printable ASCII without spaces",
    };
  }
  return { ok: true, messageId };
}

function tooLong(length: number): MessageIdResult {
  return { ok: false, reason: `The Message-ID has ${length} characters, at most ${MAX_LENGTH} are allowed` };
}

/**
 * The ids in an In-Reply-To or References header of received mail: in order, at most `limit`, whatever stands between
 * them skipped.
 */
export function parseMessageIds(headerValue: string, limit = MAX_REFERENCES): string[] {
  const ids: string[] = [];
  // A header may be 64 KB of "<": each search is linear and the text is cut first.
  for (const match of headerValue.slice(0, MAX_LIST_CHARACTERS).matchAll(/<[!-;=?-~]{1,898}>/g)) {
    ids.push(match[0]);
    if (ids.length === limit) break;
  }
  return ids;
}

/**
 * A References chain that no reader or hop chokes on: without repeats, and of a long one the first id and the latest.
 * RFC 5322 §3.6.4 sets no limit; threading needs the root and the nearest ancestors.
 */
export function boundReferences(ids: readonly string[]): string[] {
  const unique = [...new Set(ids)];
  if (unique.length <= MAX_REFERENCES) return unique;
  return [unique[0]!, ...unique.slice(1 - MAX_REFERENCES)];
}

export const MAX_REFERENCES = 50;

// One id must fit one line of 998 (RFC 5322 §2.1.1) beside its field's name.
const MAX_LENGTH = 900;
const MAX_LIST_CHARACTERS = 65_536;

const ONE_ID = /^<[!-;=?-~]+>$/;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const OURS = new RegExp(`^<(${UUID})@([a-z0-9.-]{1,253})>$`, "i");
const EMAIL_ID = new RegExp(`^em_(${UUID})$`);

/** The UUID inside an email's id (`em_` and a UUIDv7). */
export function uuidOf(emailId: string): string {
  const match = EMAIL_ID.exec(emailId);
  if (match === null) throw new Error(`not an email id: ${JSON.stringify(emailId.slice(0, 60))}`);
  return match[1]!;
}
