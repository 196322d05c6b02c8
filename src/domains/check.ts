/**
 * One DNS check of a domain, called by checker.ts. It looks up all expected records through the resolver at once, and
 * then queries the domain's own name servers for the records that are missing or wrong.
 */

import type { Authoritative, ZoneServers } from "../dns/authoritative.ts";
import type { Lookup, LookupFunction, LookupType, ZoneCut } from "../dns/record.ts";
import type { Resolver } from "../dns/resolver.ts";
import { setDeadline } from "../ops/deadline.ts";
import { checkTimes, misplacedNames } from "./rules/check-plan.ts";
import { judgeView, type RecordFinding } from "./rules/judge.ts";
import { viewRecord } from "./rules/record-view.ts";
import type { ExpectedRecord } from "./rules/records.ts";

export type DomainFindings = {
  records: Map<ExpectedRecord["key"], RecordFinding>;
  /** The zone at the DNS provider. Undefined: DNS did not tell. */
  zone: ZoneCut | undefined;
};

export type DomainCheck = (records: readonly ExpectedRecord[], signal?: AbortSignal) => Promise<DomainFindings>;

/** The check always ends within `timeoutMs`. A query that has no answer by then counts as a timeout in its finding. */
export function createDomainCheck(deps: {
  resolver: Resolver;
  authoritative: Authoritative;
  timeoutMs?: number;
}): DomainCheck {
  const { resolver, authoritative, timeoutMs = checkTimes.timeoutMs } = deps;

  return async (records, signal) => {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const deadline = setDeadline(timeoutMs, end);
    signal?.addEventListener("abort", end, { once: true });
    try {
      // The resolver gets 60 % of the time; the rest is left for the domain's own servers.
      const recursive = fromResolver(timeoutMs * 0.6, ended.signal);
      const domain = records[0]?.domain ?? "";
      const zone = orUndefined(authoritative.findZone(domain, ended.signal), ended.signal);
      const own = orUndefined(authoritative.findServers(domain, ended.signal), ended.signal);
      // An error elsewhere, or the lack of missing records, leaves these without a reader; a rejection must not be unhandled.
      for (const promise of [zone, own]) promise.catch(() => {});
      const findings = await Promise.all(
        records.map(async (record): Promise<[ExpectedRecord["key"], RecordFinding]> => {
          const finding: RecordFinding = { recursive: await viewRecord(record, recursive) };
          const { status } = judgeView(record, finding.recursive);
          if (status === "missing" || status === "mismatch") {
            await Promise.all([
              askOwnServers(record, finding),
              status === "missing" ? findMisplaced(record, finding) : undefined,
            ]);
          }
          return [record.key, finding];
        }),
      );
      const found = await zone;
      signal?.throwIfAborted();
      return { records: new Map(findings), zone: found };

      async function askOwnServers(record: ExpectedRecord, finding: RecordFinding): Promise<void> {
        const servers = await own;
        if (servers === undefined) return;
        const view = await viewRecord(record, fromOwn(servers, ended.signal), recursive);
        if (judgeView(record, view).status !== "unknown") finding.authoritative = view;
      }

      async function findMisplaced(record: ExpectedRecord, finding: RecordFinding): Promise<void> {
        for (const name of misplacedNames(record)) {
          const view = await viewRecord({ ...record, name }, recursive);
          if (judgeView(record, view).status !== "found") continue;
          finding.misplacedAt = name;
          return;
        }
      }
    } finally {
      deadline.clear();
      signal?.removeEventListener("abort", end);
      ended.abort();
    }
  };

  /** Each query is sent once per check, even if several records need it. */
  function fromResolver(lookupTimeoutMs: number, signal: AbortSignal): LookupFunction {
    const started = new Map<string, Promise<Lookup>>();
    return <T extends LookupType>(name: string, type: T): Promise<Lookup<T>> => {
      const key = `${name} ${type}`;
      const earlier = started.get(key) as Promise<Lookup<T>> | undefined;
      if (earlier) return earlier;
      const lookup = orTimeout(
        resolver.lookup(name, type, { bypassCache: true, signal, timeoutMs: lookupTimeoutMs }),
        signal,
      );
      started.set(key, lookup);
      return lookup;
    };
  }

  function fromOwn(own: ZoneServers, signal: AbortSignal): LookupFunction {
    return (name, type) => orTimeout(authoritative.ask(own, name, type, signal), signal);
  }
}

async function orUndefined<T>(running: Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await running;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function orTimeout<T extends LookupType>(running: Promise<Lookup<T>>, signal: AbortSignal): Promise<Lookup<T>> {
  try {
    return await running;
  } catch (error) {
    if (signal.aborted) return { kind: "timeout" };
    throw error;
  }
}
