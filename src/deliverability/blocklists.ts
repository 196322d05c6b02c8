/** Asks DNS blocklists about addresses and domains (RFC 5782), within the time of the caller. Called by check.ts. */
import ipaddr from "ipaddr.js";
import { isPublicAddress } from "../dns/address-guard.ts";
import type { Lookup, LookupFunction } from "../dns/record.ts";
import type { Listing } from "./rules/facts.ts";

/** The zones of the lists that are asked. */
export type Blocklists = { addresses: readonly string[]; domains: readonly string[] };

/** RFC 1035 §3.1, as text. A longer name would read as one that the list does not have. */
const maxName = 253;

/** Private addresses are not asked: a list cannot know them, and the question would tell it about the network. */
export async function askAddressLists(
  lists: readonly string[],
  addresses: readonly string[],
  lookup: LookupFunction,
): Promise<Listing[]> {
  const asked = addresses.filter(isPublicAddress);
  return await Promise.all(
    asked.flatMap((address) => lists.map((list) => ask({ list, subject: address, name: reversed(address) }, lookup))),
  );
}

export async function askDomainLists(
  lists: readonly string[],
  domains: readonly string[],
  lookup: LookupFunction,
): Promise<Listing[]> {
  return await Promise.all(
    domains.flatMap((domain) => lists.map((list) => ask({ list, subject: domain, name: domain }, lookup))),
  );
}

async function ask(
  { list, subject, name }: { list: string; subject: string; name: string },
  lookup: LookupFunction,
): Promise<Listing> {
  const question = `${name}.${list}`;
  if (question.length > maxName)
    return { list, subject, answer: "unanswered", detail: "the name is too long to ask for" };
  return { list, subject, ...interpretListing(await lookup(question, "A")) };
}

/** Reads the answer of a list. Only an address that means a listing counts as one: all else would accuse the sender wrongly. */
export function interpretListing(found: Lookup<"A">): Pick<Listing, "answer" | "detail"> {
  if (found.kind === "timeout") return { answer: "unanswered", detail: "did not answer in time" };
  if (found.kind === "servfail") {
    const refused = found.reason === "refused";
    return refused
      ? { answer: "refused", detail: "refuses questions from this resolver" }
      : { answer: "unanswered", detail: `DNS failed (${found.reason})` };
  }
  if (found.kind !== "found") return { answer: "not_listed", detail: "" };
  const codes = found.records.map(({ address }) => address);
  const listings = codes.filter((code) => refusalOf(code) === undefined);
  if (listings.length > 0) return { answer: "listed", detail: listings.join(", ") };
  return { answer: "refused", detail: refusalOf(codes[0] ?? "")! };
}

/** Why an address in an answer is not a listing; undefined: it is one. */
function refusalOf(code: string): string | undefined {
  const known: Record<string, string> = {
    "127.255.255.252": "the name of the list is wrong",
    "127.255.255.254": "refuses questions from public resolvers",
    "127.255.255.255": "refuses, because this resolver asks too often",
    // RFC 5782 §5: never a listing. Some lists return it to resolvers that they block.
    "127.0.0.1": "refuses questions from this resolver",
    // Spamhaus DBL: an address was asked.
    "127.0.1.255": "does not answer this kind of question",
  };
  if (known[code]) return known[code];
  if (code.startsWith("127.255.255.")) return `refuses to answer (${code})`;
  // A resolver that answers for names that do not exist, or a list that has shut down.
  if (!code.startsWith("127.")) return `answers ${code}, which is not an answer of a blocklist`;
  return undefined;
}

/** 203.0.113.5 is 5.113.0.203; IPv6 is in nibbles. RFC 5782 §2.1, §2.4 */
export function reversed(address: string): string {
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toByteArray().reverse().join(".");
  const digits = parsed.toByteArray().map((byte) => byte.toString(16).padStart(2, "0"));
  return [...digits.join("")].reverse().join(".");
}
