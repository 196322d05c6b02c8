/** Message-IDs: derives one from an email's id, and parses the ids that callers and received mail contain. */

export type MessageIdResult = { ok: true; messageId: string } | { ok: false; reason: string };

/** RFC 5322 §3.6.4: unique because the email's id is unique, and the same for every attempt. */
export function makeMessageId(emailId: string, domain: string): string {
  return `<${uuidOf(emailId)}@${domain}>`;
}

/** The email of one of our Message-IDs; undefined for any other id. Only a hint: a sender can forge such an id. */
export function readMessageId(messageId: string): { emailId: string; domain: string } | undefined {
  const match = OUR_ID.exec(messageId);
  if (match === null) return undefined;
  return { emailId: `em_${match[1]!.toLowerCase()}`, domain: match[2]!.toLowerCase() };
}

/** Parses one id of a request, with or without angle brackets. */
export function parseMessageId(text: string): MessageIdResult {
  // Check the length first: the trimming pattern is quadratic on a long run of spaces.
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
  return { ok: false, reason: `The Message-ID has ${length} characters; at most ${MAX_LENGTH} are allowed` };
}

/** The ids in an In-Reply-To or References header of received mail, in order and at most `limit`. Skips other text. */
export function parseMessageIds(headerValue: string, limit = MAX_REFERENCES): string[] {
  const ids: string[] = [];
  // A header may be 64 KB of "<". The text is cut first, and the pattern is bounded.
  for (const match of headerValue.slice(0, MAX_LIST_CHARACTERS).matchAll(/<[!-;=?-~]{1,898}>/g)) {
    ids.push(match[0]);
    if (ids.length === limit) break;
  }
  return ids;
}

/**
 * Limits a References chain to a length that every mail server and reader accepts: no duplicates, and only the first id and the
 * newest ones. RFC 5322 §3.6.4 sets no limit; threading needs the root and the nearest ancestors.
 */
export function boundReferences(ids: readonly string[]): string[] {
  const unique = [...new Set(ids)];
  if (unique.length <= MAX_REFERENCES) return unique;
  return [unique[0]!, ...unique.slice(1 - MAX_REFERENCES)];
}

export const MAX_REFERENCES = 50;

// RFC 5322 §2.1.1: an id and its field's name must fit a line of 998 characters.
const MAX_LENGTH = 900;
const MAX_LIST_CHARACTERS = 65_536;

const ONE_ID = /^<[!-;=?-~]+>$/;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const OUR_ID = new RegExp(`^<(${UUID})@([a-z0-9.-]{1,253})>$`, "i");
const EMAIL_ID = new RegExp(`^em_(${UUID})$`);

/** The UUID of an email's id (`em_` and a UUIDv7). */
export function uuidOf(emailId: string): string {
  const match = EMAIL_ID.exec(emailId);
  if (match === null) throw new Error(`not an email id: ${JSON.stringify(emailId.slice(0, 60))}`);
  return match[1]!;
}
