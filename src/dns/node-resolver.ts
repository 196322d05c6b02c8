/** Adapts our resolver to the signature of `dns.promises.resolve`, for libraries that accept such a function. */
import { joinText, type Lookup, lookupTypes, type RecordOf } from "./record.ts";
import type { Resolver } from "./resolver.ts";

export type NodeResolve = (name: string, type?: string) => Promise<unknown[]>;

/** The records, or the code of the error. `keepMs`: how long DNS allows to keep the answer; 0 for a failure. */
export type NodeAnswer = { keepMs: number } & ({ records: unknown[] } | { code: string });

/** Absence and failure are errors with the codes of node:dns, as these libraries expect. */
export function asNodeResolve(resolver: Resolver, signal?: AbortSignal): NodeResolve {
  return async (name, type = "A") => recordsOf(await lookUpForNode(resolver, { name, type, signal }), name, type);
}

/** For a thread, which does not have the resolver: `recordsOf` gives the same result as `asNodeResolve`. */
export async function lookUpForNode(
  resolver: Resolver,
  { name, type: requestedType, signal }: { name: string; type: string; signal?: AbortSignal },
): Promise<NodeAnswer> {
  const type = lookupTypes.find((known) => known === requestedType.toUpperCase());
  if (type === undefined) return { code: "ENOTIMP", keepMs: 0 };
  const found = await resolver.lookup(name, type, { signal });
  const keepMs = "ttlSeconds" in found ? found.ttlSeconds * 1000 : 0;
  return found.kind === "found" ? { records: found.records.map(shape), keepMs } : { code: codes[found.kind], keepMs };
}

export function recordsOf(answer: NodeAnswer, name: string, type: string): unknown[] {
  if ("code" in answer) throw failure(answer.code, name, type);
  return answer.records;
}

const codes = {
  nxdomain: "ENOTFOUND",
  nodata: "ENODATA",
  servfail: "ESERVFAIL",
  timeout: "ETIMEOUT",
} as const satisfies Record<Exclude<Lookup["kind"], "found">, string>;

function shape(record: RecordOf<(typeof lookupTypes)[number]>): unknown {
  switch (record.type) {
    case "A":
    case "AAAA":
      return record.address;
    case "CNAME":
    case "NS":
    case "PTR":
      return record.target;
    case "MX":
      return { priority: record.priority, exchange: record.exchange };
    case "TXT":
      // One UTF-8 string per record, so that the library cannot split a character or join the parts incorrectly.
      return [Buffer.from(joinText(record), "latin1").toString("utf8")];
    case "TLSA":
      return { certUsage: record.usage, selector: record.selector, match: record.matching, data: record.data };
    case "SOA":
      return { nsname: record.mname, hostmaster: record.rname, serial: record.serial };
  }
}

/** Without a stack trace: an absent record is a result, and the trace takes ten times as long as the rest. */
function failure(code: string, name: string, type: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = new Error(`query${type} ${code} ${name}`);
  Error.stackTraceLimit = stackTraceLimit;
  return Object.assign(error, {
    code,
    errno: code,
    syscall: `query${type}`,
    hostname: name,
  });
}
