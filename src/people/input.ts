/** What people type: an address, a name. One reading for every form. */
import { parseAddress } from "../mail/address.ts";
import type { Violation } from "../rules/problem.ts";

const maxName = 100;
/** Which addresses better-auth's forms take, a few fewer than mail does; input.test.ts holds it against the library that they ask. */
const signInTakes = /^(?:[\w'+-]+\.)*[\w'+-]*[\w+-]@(?:[a-z\d][a-z\d-]*\.)+[a-z]{2,}$/;

/** In lower case, as it is stored; undefined when mail could not be sent there or the sign-in would not take it. */
export function readEmail(text: string): string | undefined {
  const read = parseAddress(text);
  if (!read.ok || read.address.name !== "" || read.address.smtputf8) return undefined;
  const email = read.address.address.toLowerCase();
  return email.length <= 254 && signInTakes.test(email) ? email : undefined;
}

export function judgeName(name: string): Violation[] {
  const length = [...name].length;
  if (length < 1 || length > maxName)
    return [{ field: "name", description: `must have 1 to ${maxName} characters, has ${length}` }];
  if (/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(name) || !name.isWellFormed())
    return [{ field: "name", description: "must not hold control characters" }];
  return [];
}

export const noAddress: Violation = { field: "email", description: "must be an email address such as you@example.com" };
