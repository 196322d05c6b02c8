/** Adapts our resolver to the signature of `dns.promises.resolve`, for libraries that accept such a function. */
import { joinText, type Lookup, lookupTypes, type RecordOf } from "./record.ts";
import type { Resolver } from "./resolver.ts";

export type NodeResolve = (name: string, type?: string) => Promise<unknown[]>;

/** Absence and failure are errors with the codes of node:dns, as these libraries expect. */
export function asNodeResolve(resolver: Resolver, signal?: AbortSignal): NodeResolve {
  return async (name, requestedType = "A") => {
    const type = lookupTypes.find((known) => known === requestedType.toUpperCase());
    if (type === undefined) throw failure("ENOTIMP", name, requestedType);
    const found = await resolver.lookup(name, type, { signal });
    if (found.kind !== "found") throw failure(codes[found.kind], name, type);
    return found.records.map(shape);
  };
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

function failure(code: string, name: string, type: string): Error {
  return Object.assign(new Error(`query${type} ${code} ${name}`), {
    code,
    errno: code,
    syscall: `query${type}`,
    hostname: name,
  });
}
