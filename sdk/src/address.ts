/** Addresses as text or as an object with a name. email-request.ts and suppressions.ts call it. */
import { checkString, nameOf } from "./check.ts";
import { badArgument } from "./error.ts";

/** An address: `a@example.com`, `Name <a@example.com>`, or an object. */
export type Address = string | AddressObject;

export interface AddressObject {
  /** The address, `a@example.com`. */
  address: string;
  /** The name that the recipient sees, in any script. It needs no quotes. */
  name?: string;
}

/** The address as the API takes it, with the name in quotes. The server checks the rest. */
export function toAddress(input: Address, field: string): string {
  if (typeof input === "string") return input;
  const { address, name } = readObject(input, field);
  return name.trim() === "" ? address : `"${name.trim().replace(/["\\]/g, "\\$&")}" <${address}>`;
}

/** The address without the name. */
export function bareAddress(input: Address, field: string): string {
  return typeof input === "string" ? input : readObject(input, field).address;
}

/** One address or several, as an array. */
export function toAddresses(input: Address | readonly Address[] | undefined | null, field: string): string[] {
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) return [toAddress(input as Address, field)];
  return input.map((one: Address, i) => toAddress(one, `${field}[${i}]`));
}

function readObject(input: AddressObject, field: string): Required<AddressObject> {
  const shape = 'must be an address such as "Ada <ada@example.net>" or { name: "Ada", address: "ada@example.net" }';
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw badArgument(field, `${shape}, not ${nameOf(input)}`);
  const { address, name = "" } = input;
  if (address === undefined && "email" in input) throw badArgument(`${field}.email`, "is called address here");
  checkString(address, `${field}.address`, shape);
  if (name !== null) checkString(name, `${field}.name`);
  // Otherwise the address could close the brackets and add another one.
  if (/[<>\p{Cc}]/u.test(address))
    throw badArgument(`${field}.address`, "must be only the address: put the name in name");
  if (/[\p{Cc}\u2028\u2029]/u.test(name ?? ""))
    throw badArgument(`${field}.name`, "contains a line break or a control character");
  return { address, name: name ?? "" };
}
