/** Which MTA-STS policy holds for a destination: found by its TXT record, fetched over HTTPS, kept in the store for as long as it says.
 * What cannot be fetched never stops mail that no policy was known for (RFC 8461 §3.3 and §5.1). */
import { joinText, type Lookup } from "../mail/dns-record.ts";
import type { Log } from "../ops/log.ts";
import { keptForMs, type StsPolicy } from "../rules/mta-sts.ts";
import { findAddresses, type RouteDeps } from "../smtp/route.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { readStsPolicy, type StoredPolicy, saveStsPolicy } from "../store/mta-sts.ts";
import { fetchPolicyFile } from "./mta-sts-fetch.ts";

export type TextResolver = {
  lookup(name: string, type: "TXT", options?: { signal?: AbortSignal }): Promise<Lookup<"TXT">>;
};

export type MtaStsDeps = {
  sql: Sql;
  log: Log;
  resolver: TextResolver;
  route: RouteDeps;
  port: number;
};

export type PolicyOf = (domain: string, signal: AbortSignal) => Promise<StsPolicy | undefined>;

/** Loaded by the first message that leaves: it brings along a hundred files that a start need not read. */
const library = () => import("mailauth/lib/mta-sts.js");

/** How long an answer is believed without asking DNS whether the policy has changed. */
const lookAgainMs = 60_000;
/** A policy that could not be fetched is not asked for by every message. */
const failedMs = 5 * 60_000;
const policiesKept = 50_000;
/** For all of it: DNS, the connection, the file. */
const findMs = 15_000;

export function createMtaSts(deps: MtaStsDeps): PolicyOf {
  const { sql, log } = deps;
  const known = new Map<string, { policy: Promise<StsPolicy | undefined>; untilMs: number }>();
  const failed = new Map<string, number>();

  async function find(domain: string, signal: AbortSignal): Promise<StsPolicy | undefined> {
    const id = await policyId(domain, signal);
    const stored = await readStsPolicy(sql, domain);
    // RFC 8461 §3.3: without a record, or with the one that is known, the policy holds until its end.
    if (id === undefined || id === stored?.id) return stored;
    if ((failed.get(`${domain} ${id}`) ?? 0) > Date.now()) return stored;
    try {
      const fresh = await fetchFresh(domain, id, signal);
      await saveStsPolicy(sql, domain, fresh);
      return fresh;
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      if (failed.size >= policiesKept) failed.clear();
      failed.set(`${domain} ${id}`, Date.now() + failedMs);
      log.info({ domain, reason: (error as Error).message }, "an MTA-STS policy could not be fetched");
      return stored;
    }
  }

  async function policyId(domain: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const resolver = async (name: string) => {
        const answer = await deps.resolver.lookup(name, "TXT", { signal });
        if (answer.kind === "found") return answer.records.map((record) => [joinText(record)]);
        throw Object.assign(new Error(answer.kind), { code: "ENOTFOUND" });
      };
      const { resolvePolicy } = await library();
      return (await resolvePolicy(domain, { resolver, strict: true })) || undefined;
    } catch {
      // Several records, or none that can be read: as if there were none (§3.1).
      return undefined;
    }
  }

  async function fetchFresh(domain: string, id: string, signal: AbortSignal): Promise<StoredPolicy> {
    const host = `mta-sts.${domain}`;
    const found = await findAddresses(host, deps.route, signal);
    if ("failure" in found) throw new Error("message" in found.failure ? found.failure.message : found.failure.kind);
    const text = await fetchPolicyFile({ host, address: found.addresses[0]!, port: deps.port, signal });
    const { parsePolicy } = await library();
    const policy = parsePolicy(text, { strict: true });
    return { id, mode: policy.mode, hosts: policy.mx ?? [], keptMs: keptForMs(policy.maxAge ?? 0) };
  }

  /** One question for all who ask at once; whoever asked first may stop meanwhile. */
  function ask(domain: string): Promise<StsPolicy | undefined> {
    const one = known.get(domain);
    if (one && one.untilMs > Date.now()) return one.policy;
    if (known.size >= policiesKept) known.clear();
    const policy = find(domain, AbortSignal.timeout(findMs));
    known.set(domain, { policy, untilMs: Date.now() + lookAgainMs });
    policy.catch(() => known.delete(domain));
    return policy;
  }

  return async (domain, signal) => {
    signal.throwIfAborted();
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([ask(domain), stopped.promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  };
}
