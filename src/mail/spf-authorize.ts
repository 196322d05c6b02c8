/** Checks whether the SPF record of a name authorizes the service's include, as a receiver would. Called by domains/. */
import { canonicalName, joinText, type Lookup, type LookupFunction, type LookupType, sameName } from "../dns/record.ts";
import { hasMacro, isSpf, type Mechanism, parseSpf, type SpfRecord } from "./spf.ts";

export type SpfVerdict = {
  kind: "authorized" | "not_authorized" | "none" | "multiple" | "permerror" | "temperror";
  /** The SPF record or records of the name itself. */
  texts: string[];
  /** DNS lookups that a receiver makes before it has a result. */
  lookups: number;
  /** The error of a `permerror` or `temperror`, or a warning for `authorized`. */
  problem: string;
};

// RFC 7208 §4.6.4
const maxLookups = 10;
const maxVoids = 2;

/**
 * Evaluates the record from left to right, as for a message that only `target` matches. Mechanisms that depend on the sender's
 * address count as lookups but never match.
 */
export async function authorizeSpf(input: {
  texts: readonly string[];
  /** The name of the TXT records in `texts`. */
  name: string;
  /** The required include, such as spf.mail.example. */
  target: string;
  lookup: LookupFunction;
}): Promise<SpfVerdict> {
  const texts = input.texts.filter(isSpf);
  const [text] = texts;
  const walk: Walk = { target: input.target, lookup: input.lookup, lookups: 0, voids: 0, allowsAll: false };
  const verdict = (kind: SpfVerdict["kind"], problem = ""): SpfVerdict => ({
    kind,
    texts,
    lookups: walk.lookups,
    problem,
  });

  if (text === undefined) return verdict("none");
  // RFC 7208 §4.5: more than one record is a permanent error.
  if (texts.length > 1) return verdict("multiple", "receivers reject a name with more than one SPF record");
  const reading = parseSpf(text);
  if (!reading.ok) return verdict("permerror", reading.problem);
  try {
    const result = await checkHost(reading.record, canonicalName(input.name), walk);
    if (result !== "pass") return verdict("not_authorized");
    return verdict("authorized", walk.allowsAll ? "it authorizes every machine on the internet (+all)" : "");
  } catch (error) {
    if (error instanceof SpfError) return verdict(error.kind, error.message);
    throw error;
  }
}

type Walk = { target: string; lookup: LookupFunction; lookups: number; voids: number; allowsAll: boolean };
type Result = "pass" | "fail" | "nomatch";

class SpfError extends Error {
  readonly kind: "permerror" | "temperror";
  constructor(kind: "permerror" | "temperror", message: string) {
    super(message);
    this.kind = kind;
  }
}

async function checkHost(record: SpfRecord, domain: string, walk: Walk): Promise<Result> {
  for (const mechanism of record.mechanisms) {
    if (mechanism.name === "all" && mechanism.qualifier === "+") walk.allowsAll = true;
    if (!(await matches(mechanism, domain, walk))) continue;
    return mechanism.qualifier === "+" ? "pass" : "fail";
  }
  if (record.redirect === undefined) return "nomatch";
  countLookup(walk);
  if (sameName(record.redirect, walk.target)) return "pass";
  if (hasMacro(record.redirect)) return "nomatch";
  return checkHost(await fetchRecord(record.redirect, walk), canonicalName(record.redirect), walk);
}

async function matches(mechanism: Mechanism, domain: string, walk: Walk): Promise<boolean> {
  switch (mechanism.name) {
    case "all":
      return true;
    case "ip4":
    case "ip6":
      return false;
    case "include": {
      countLookup(walk);
      if (sameName(mechanism.domain, walk.target)) return true;
      if (hasMacro(mechanism.domain)) return false;
      const record = await fetchRecord(mechanism.domain, walk);
      return (await checkHost(record, canonicalName(mechanism.domain), walk)) === "pass";
    }
    case "a":
    case "mx":
      countLookup(walk);
      await countVoid(mechanism.domain ?? domain, mechanism.name === "a" ? "A" : "MX", walk);
      return false;
    case "exists":
    case "ptr":
      // Their queries depend on the sender's address, so only their cost is known in advance.
      countLookup(walk);
      return false;
  }
}

/** Fetches the record of an include or redirect. RFC 7208 §5.2, §6.1: a missing record is a permanent error. */
async function fetchRecord(name: string, walk: Walk): Promise<SpfRecord> {
  const found = await ask(name, "TXT", walk);
  const texts = found.kind === "found" ? found.records.map(joinText).filter(isSpf) : [];
  const [text] = texts;
  if (text === undefined) throw new SpfError("permerror", `${name} has no SPF record`);
  if (texts.length > 1) throw new SpfError("permerror", `${name} has more than one SPF record`);
  const reading = parseSpf(text);
  if (!reading.ok) throw new SpfError("permerror", `the SPF record of ${name} is invalid: ${reading.problem}`);
  return reading.record;
}

async function countVoid(name: string, type: "A" | "MX", walk: Walk): Promise<void> {
  if (hasMacro(name)) return;
  const found = await ask(name, type, walk);
  if (found.kind !== "nxdomain" && found.kind !== "nodata") return;
  walk.voids += 1;
  if (walk.voids > maxVoids) {
    throw new SpfError("permerror", `more than ${maxVoids} of its lookups return no records, the last one for ${name}`);
  }
}

async function ask<T extends LookupType>(name: string, type: T, walk: Walk): Promise<Lookup<T>> {
  const found = await walk.lookup(canonicalName(name), type);
  if (found.kind === "servfail" || found.kind === "timeout") {
    throw new SpfError("temperror", `DNS did not answer for ${name}`);
  }
  return found;
}

function countLookup(walk: Walk): void {
  walk.lookups += 1;
  if (walk.lookups > maxLookups) {
    throw new SpfError("permerror", `it needs more than ${maxLookups} DNS lookups before it authorizes this service`);
  }
}
