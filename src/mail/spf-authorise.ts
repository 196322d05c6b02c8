/** Tells whether the SPF record of a name authorises a service's own include, as a receiver that gets its mail would find. */
import { canonicalName, joinText, type Lookup, type LookupFunction, type LookupType, sameName } from "./dns-record.ts";
import { hasMacro, isSpf, type Mechanism, parseSpf, type SpfRecord } from "./spf.ts";

export type SpfVerdict = {
  kind: "authorised" | "not_authorised" | "none" | "multiple" | "permerror" | "temperror";
  /** The SPF record(s) at the name itself. */
  texts: string[];
  /** DNS look-ups that a receiver makes before it knows. */
  lookups: number;
  /** What is wrong, for `permerror` and `temperror`; a warning for `authorised`. */
  problem: string;
};

// RFC 7208 §4.6.4
const maxLookups = 10;
const maxVoids = 2;

/**
 * Walks the record from the left as for a message that only `target` matches: mechanisms whose outcome depends on the
 * sender's address are counted and passed over.
 */
export async function authoriseSpf(input: {
  texts: readonly string[];
  /** The name that the texts were found at. */
  name: string;
  /** The include to look for, such as spf.mail.example. */
  target: string;
  lookup: LookupFunction;
}): Promise<SpfVerdict> {
  const texts = input.texts.filter(isSpf);
  const [text] = texts;
  const walk: Walk = { target: input.target, lookup: input.lookup, lookups: 0, voids: 0, open: false };
  const verdict = (kind: SpfVerdict["kind"], problem = ""): SpfVerdict => ({
    kind,
    texts,
    lookups: walk.lookups,
    problem,
  });

  if (text === undefined) return verdict("none");
  // RFC 7208 §4.5: more than one record is a permanent error.
  if (texts.length > 1) return verdict("multiple", "receivers refuse a name with more than one SPF record");
  const reading = parseSpf(text);
  if (!reading.ok) return verdict("permerror", reading.problem);
  try {
    const result = await checkHost(reading.record, canonicalName(input.name), walk);
    if (result !== "pass") return verdict("not_authorised");
    return verdict("authorised", walk.open ? "it authorises every machine of the internet (+all)" : "");
  } catch (error) {
    if (error instanceof SpfError) return verdict(error.kind, error.message);
    throw error;
  }
}

type Walk = { target: string; lookup: LookupFunction; lookups: number; voids: number; open: boolean };
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
    if (mechanism.name === "all" && mechanism.qualifier === "+") walk.open = true;
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
      // What these ask depends on the sender's address; only their cost is known ahead.
      countLookup(walk);
      return false;
  }
}

/** The record that an include or a redirect names. RFC 7208 §5.2, §6.1: to have none there is a permanent error. */
async function fetchRecord(name: string, walk: Walk): Promise<SpfRecord> {
  const found = await ask(name, "TXT", walk);
  const texts = found.kind === "found" ? found.records.map(joinText).filter(isSpf) : [];
  const [text] = texts;
  if (text === undefined) throw new SpfError("permerror", `${name} has no SPF record`);
  if (texts.length > 1) throw new SpfError("permerror", `${name} has more than one SPF record`);
  const reading = parseSpf(text);
  if (!reading.ok) throw new SpfError("permerror", `the SPF record of ${name} is broken: ${reading.problem}`);
  return reading.record;
}

async function countVoid(name: string, type: "A" | "MX", walk: Walk): Promise<void> {
  if (hasMacro(name)) return;
  const found = await ask(name, type, walk);
  if (found.kind !== "nxdomain" && found.kind !== "nodata") return;
  walk.voids += 1;
  if (walk.voids > maxVoids) {
    throw new SpfError("permerror", `more than ${maxVoids} of its look-ups find nothing, the last is ${name}`);
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
    throw new SpfError("permerror", `it needs more than ${maxLookups} DNS look-ups before it names this service`);
  }
}
