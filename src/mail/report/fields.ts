/** Parses the groups of header fields in machine-readable reports (RFC 3464 §2.1, RFC 5965 §3). Called by bounce.ts and complaint.ts. */
import type { Field } from "../message/read.ts";

export const dsnActions = ["failed", "delayed", "delivered", "relayed", "expanded"] as const;
export type DsnAction = (typeof dsnActions)[number];

export type BouncedRecipient = {
  /** The recipient's addresses, most likely first: the one that we sent to, or one that it forwards to. Empty if the report has none. */
  addresses: string[];
  action: DsnAction;
  /** An RFC 3463 code such as 5.1.1; empty if the report has none. */
  status: string;
  /** The text of the refusing server, on one line. */
  diagnostic: string;
  /** The server that refused. */
  remoteMta: string;
};

const maxBytes = 256 * 1024;
const maxGroups = 1000;

/** Returns one list per group. Empty lines separate the groups. */
export function fieldGroups(bytes: Uint8Array): Field[][] {
  const text = new TextDecoder("utf-8").decode(bytes.subarray(0, maxBytes)).replaceAll("\0", "");
  const groups: Field[][] = [];
  let group: Field[] = [];
  for (const line of text.split(/\r?\n/)) {
    const field = /^([!-9;-~]+)[ \t]*:(.*)$/s.exec(line);
    if (line.trim() === "") {
      if (group.length > 0) groups.push(group);
      group = [];
      if (groups.length >= maxGroups) return groups;
    } else if (/^[ \t]/.test(line) && group.length > 0) {
      // RFC 5322 §2.2.3: a line that starts with white space continues the previous field.
      const last = group.at(-1)!;
      last.value += last.value === "" ? line.trim() : ` ${line.trim()}`;
    } else if (field) group.push({ name: field[1]!.toLowerCase(), value: field[2]!.trim() });
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

/** The header of the message that a report returns, complete or in part. */
export function headerFields(bytes: Uint8Array): Field[] {
  return fieldGroups(bytes)[0] ?? [];
}

/** The address in `rfc822; <a@b>`. RFC 6533 §3 adds the type `utf-8`. Cuts the value first, because the patterns are slow on long text. */
export function typedAddress(value: string): string {
  const typed = value.slice(0, maxAddressField).replace(/^\s*[a-z0-9-]+\s*;\s*/i, "");
  const comment = typed.indexOf("(");
  const bare = comment < 0 ? typed : typed.slice(0, comment);
  return /<([^<>\s]{1,255}@[^<>\s]{1,255})>/.exec(bare)?.[1] ?? bareAddress.exec(bare)?.[0] ?? "";
}

const bareAddress = /[^\s<>;,"']{1,255}@[^\s<>;,"']{1,255}/;
const maxAddressField = 1000;
