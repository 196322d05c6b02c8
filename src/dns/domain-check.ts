/** One check of a domain: asks for all its records at once within one deadline, and what is not right asks at the source. */
import type { Lookup, LookupFunction, LookupType } from "../mail/dns-record.ts";
import { setDeadline } from "../ops/deadline.ts";
import { checkTimes, misplacedName } from "../rules/check-plan.ts";
import type { AskedRecord, RecordKey } from "../rules/dns-records.ts";
import { judgeView, type RecordFinding } from "../rules/record-judge.ts";
import { viewRecord } from "../rules/record-view.ts";
import type { Authoritative, OwnServers } from "./authoritative.ts";
import type { Resolver } from "./resolver.ts";

export type DomainCheck = (
  records: readonly AskedRecord[],
  signal?: AbortSignal,
) => Promise<Map<RecordKey, RecordFinding>>;

/** The check always ends within `timeoutMs`: what was not answered by then is a time-out in its finding. */
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
      // Most of the time belongs to the resolver; the rest is for the domain's own servers.
      const recursive = fromResolver(timeoutMs * 0.6, ended.signal);
      const own = findOwn(records[0]?.domain ?? "", ended.signal);
      // Nobody may come to await it; a failure is seen by those who do.
      own.catch(() => {});
      const findings = await Promise.all(
        records.map(async (record): Promise<[RecordKey, RecordFinding]> => {
          const finding: RecordFinding = { recursive: await viewRecord(record, recursive) };
          const { status } = judgeView(record, finding.recursive);
          if (status === "missing" || status === "mismatch") {
            await Promise.all([
              askSource(record, finding),
              status === "missing" ? findMisplaced(record, finding) : undefined,
            ]);
          }
          return [record.key, finding];
        }),
      );
      signal?.throwIfAborted();
      return new Map(findings);

      async function askSource(record: AskedRecord, finding: RecordFinding): Promise<void> {
        const servers = await own;
        if (servers === undefined) return;
        const view = await viewRecord(record, fromOwn(servers, ended.signal), recursive);
        if (judgeView(record, view).status !== "unknown") finding.authoritative = view;
      }

      async function findMisplaced(record: AskedRecord, finding: RecordFinding): Promise<void> {
        const name = misplacedName(record);
        if (name === undefined) return;
        const view = await viewRecord({ ...record, name }, recursive);
        if (judgeView(record, view).status === "found") finding.misplacedAt = name;
      }
    } finally {
      deadline.clear();
      signal?.removeEventListener("abort", end);
      ended.abort();
    }
  };

  /** The same question is asked once in a check, however many records lead to it. */
  function fromResolver(lookupTimeoutMs: number, signal: AbortSignal): LookupFunction {
    const asked = new Map<string, Promise<Lookup>>();
    return <T extends LookupType>(name: string, type: T): Promise<Lookup<T>> => {
      const key = `${name} ${type}`;
      const running = asked.get(key) as Promise<Lookup<T>> | undefined;
      if (running) return running;
      const started = orTimeout(
        resolver.lookup(name, type, { fresh: true, signal, timeoutMs: lookupTimeoutMs }),
        signal,
      );
      asked.set(key, started);
      return started;
    };
  }

  function fromOwn(own: OwnServers, signal: AbortSignal): LookupFunction {
    return (name, type) => orTimeout(authoritative.ask(own, name, type, signal), signal);
  }

  async function findOwn(domain: string, signal: AbortSignal): Promise<OwnServers | undefined> {
    try {
      return await authoritative.findServers(domain, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
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
