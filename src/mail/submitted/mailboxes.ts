/** Reads the mailboxes of an address field in a submitted message: groups, comments and encoded words as mail programs write them.
 * Used by fields.ts and prepare.ts. */
import { addressParser, type Address as Mailbox } from "postal-mime";
import { type Address, parseAddress } from "../address.ts";

/** More mailboxes than this are not read: the recipients come from the envelope. */
const maxMailboxes = 100;

/** The mailboxes with a valid address, in order. */
export function parseMailboxes(value: string): Address[] {
  return addressParser(value)
    .flatMap((one: Mailbox) => (one.group ? one.group : [one]))
    .slice(0, maxMailboxes)
    .flatMap(({ name, address }) => {
      const read = parseAddress(address ?? "");
      return read.ok ? [{ ...read.address, name: nameOf(name ?? "") }] : [];
    });
}

function nameOf(name: string): string {
  return name
    .replace(/\p{Cc}+/gu, " ")
    .toWellFormed()
    .trim()
    .slice(0, 256);
}
