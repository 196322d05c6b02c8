/** Parses the media type of an attachment. Called by attachment.ts, for the check of a request and for composing. */

export type ContentType = { type: string; parameters: [name: string, value: string][] };
export type ContentTypeResult = { ok: true; contentType: ContentType } | { ok: false; reason: string };

/** Parses `type/subtype` with optional parameters (RFC 2045 §5.1). Refuses comments, and drops the parameters `name` and `boundary`. */
export function parseContentType(text: string): ContentTypeResult {
  if (text.length > 255) return refuse("is longer than 255 characters");
  const [full, type] = TYPE.exec(text) ?? [];
  if (full === undefined || type === undefined)
    return refuse('must look like "image/png" or "text/calendar; method=REQUEST"');
  const parameters: [string, string][] = [];
  let rest = text.slice(full.length);
  while (rest !== "") {
    const match = PARAMETER.exec(rest);
    if (match === null) return refuse(`has an invalid parameter near "${printable(rest)}"`);
    const name = match[1]!.toLowerCase();
    const value = match[2] ?? match[3]!;
    if (!SET_BY_COMPOSER.has(name)) parameters.push([name, value]);
    rest = rest.slice(match[0].length);
  }
  return { ok: true, contentType: { type: type.toLowerCase(), parameters } };
}

/** The type to send: message and multipart types must not be base64 (RFC 2045 §6.4), so they become application/octet-stream. */
export function transportType(contentType: ContentType): ContentType {
  return /^(message\/(?!global)|multipart\/)/.test(contentType.type)
    ? { type: "application/octet-stream", parameters: [] }
    : contentType;
}

// RFC 2045 §5.1 tokens; RFC 6838 §4.2 bounds each name to 127 characters.
const TYPE = /^[ \t]*([A-Za-z0-9!#$&^_.+-]{1,127}\/[A-Za-z0-9!#$&^_.+-]{1,127})[ \t]*(?=;|$)/;
const PARAMETER =
  /^;[ \t]*([A-Za-z0-9!#$&^_.+-]+)=(?:([A-Za-z0-9!#$%&'*+.^_`{|}~/:@?-]+)|"([\x20\x21\x23-\x5b\x5d-\x7e]*)")[ \t]*;?[ \t]*(?=;|$)/;

const SET_BY_COMPOSER = new Set(["name", "boundary"]);

function printable(text: string): string {
  return text.slice(0, 24).replace(/[^\x20-\x7e]/g, "?");
}

function refuse(reason: string): ContentTypeResult {
  return { ok: false, reason: `The content type ${reason}` };
}
