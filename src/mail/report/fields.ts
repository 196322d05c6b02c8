/** The groups of fields that machine-readable reports are made of (RFC 3464 §2.1, RFC 5965 §3): headers without a message. */
import type { Field } from "../message/read.ts";

const maxBytes = 256 * 1024;
const maxGroups = 1000;

/** One list for each group; a blank line stands between two. */
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
      // RFC 5322 §2.2.3: a line that begins with a space goes on with the field before it.
      const last = group.at(-1)!;
      last.value += last.value === "" ? line.trim() : ` ${line.trim()}`;
    } else if (field) group.push({ name: field[1]!.toLowerCase(), value: field[2]!.trim() });
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

/** The header of a message that a report returns, whole or in part. */
export function headerFields(bytes: Uint8Array): Field[] {
  return fieldGroups(bytes)[0] ?? [];
}

/** The address in `rfc822; <a@b>`, without its type; RFC 6533 §3 has `utf-8` in the same place. Bounded: patterns without an end are slow on long texts. */
export function typedAddress(value: string): string {
  const typed = value.slice(0, maxAddressField).replace(/^\s*[a-z0-9-]+\s*;\s*/i, "");
  const comment = typed.indexOf("(");
  const bare = comment < 0 ? typed : typed.slice(0, comment);
  return /<([^<>\s]{1,255}@[^<>\s]{1,255})>/.exec(bare)?.[1] ?? bareAddress.exec(bare)?.[0] ?? "";
}

const bareAddress = /[^\s<>;,"']{1,255}@[^\s<>;,"']{1,255}/;
const maxAddressField = 1000;
