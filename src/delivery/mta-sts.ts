/** Finds the MTA-STS policy of a destination: reads its TXT record, fetches the policy over HTTPS and stores it for its lifetime. A policy
 * that cannot be fetched does not stop mail unless an older one is stored (RFC 8461 §3.3 and §5.1). The direct transport calls it. */
import https from "node:https";
import { joinText, type Lookup } from "../dns/record.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import { findAddresses, type RouteDeps } from "../smtp/client/route.ts";
import { policyTtlMs, type StsPolicy } from "./rules/mta-sts.ts";
import { readStsPolicy, type StoredPolicy, saveStsPolicy } from "./store/mta-sts.ts";

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

/** Loaded with the first outgoing message, because it imports about a hundred files that the start does not need. */
const library = () => import("mailauth/lib/mta-sts.js");

/** How long a policy is used before its TXT record is read again. */
const cacheMs = 60_000;
/** The pause after a policy could not be fetched. */
const retryAfterMs = 5 * 60_000;
const maxPolicies = 50_000;
/** For DNS, the connection and the file together. */
const findTimeoutMs = 15_000;
const fetchTimeoutMs = 10_000;
const maxPolicyBytes = 64 * 1024;

export function createMtaSts(deps: MtaStsDeps): PolicyOf {
  const { sql, log } = deps;
  const cached = new Map<string, { policy: Promise<StsPolicy | undefined>; untilMs: number }>();
  /** By domain and policy id, until when the fetch is not repeated. */
  const failedUntilMs = new Map<string, number>();

  async function find(domain: string, signal: AbortSignal): Promise<StsPolicy | undefined> {
    const id = await policyId(domain, signal);
    const stored = await readStsPolicy(sql, domain);
    // RFC 8461 §3.3: a stored policy is valid until it expires, unless the record announces a new id.
    if (id === undefined || id === stored?.id) return stored;
    if ((failedUntilMs.get(`${domain} ${id}`) ?? 0) > performance.now()) return stored;
    try {
      const fetched = await fetchPolicy(domain, id, signal);
      await saveStsPolicy(sql, domain, fetched);
      return fetched;
    } catch (error) {
      if (isDatabaseAway(error)) throw error;
      if (failedUntilMs.size >= maxPolicies) failedUntilMs.clear();
      failedUntilMs.set(`${domain} ${id}`, performance.now() + retryAfterMs);
      log.info({ domain, reason: (error as Error).message }, "cannot fetch the MTA-STS policy of a domain");
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
      // RFC 8461 §3.1: several records, or an unreadable one, count as no record.
      return undefined;
    }
  }

  async function fetchPolicy(domain: string, id: string, signal: AbortSignal): Promise<StoredPolicy> {
    const host = `mta-sts.${domain}`;
    const found = await findAddresses(host, deps.route, signal);
    if ("failure" in found) throw new Error("message" in found.failure ? found.failure.message : found.failure.kind);
    const text = await fetchPolicyFile({ host, address: found.addresses[0]!, port: deps.port, signal });
    const { parsePolicy } = await library();
    const policy = parsePolicy(text, { strict: true });
    return { id, mode: policy.mode, hosts: policy.mx ?? [], ttlMs: policyTtlMs(policy.maxAge ?? 0) };
  }

  /** Concurrent callers share one search. It has its own signal, so that it continues when the first caller aborts. */
  function findOnce(domain: string): Promise<StsPolicy | undefined> {
    const entry = cached.get(domain);
    if (entry && entry.untilMs > performance.now()) return entry.policy;
    if (cached.size >= maxPolicies) cached.clear();
    const policy = find(domain, AbortSignal.timeout(findTimeoutMs));
    cached.set(domain, { policy, untilMs: performance.now() + cacheMs });
    policy.catch(() => cached.delete(domain));
    return policy;
  }

  return async (domain, signal) => {
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([findOnce(domain), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  };
}

type PolicyRequest = { host: string; address: string; port: number; signal: AbortSignal };

/** Fetches a policy file over HTTPS (RFC 8461 §3.3): follows no redirects and limits size and time. The caller has checked the address. */
function fetchPolicyFile({ host, address, port, signal }: PolicyRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = https.get({
      host: address,
      port,
      path: "/.well-known/mta-sts.txt",
      servername: host,
      agent: false,
      headers: { host: port === 443 ? host : `${host}:${port}`, accept: "text/plain" },
      rejectUnauthorized: true,
      signal: AbortSignal.any([signal, AbortSignal.timeout(fetchTimeoutMs)]),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const type = String(response.headers["content-type"] ?? "");
      const wrong =
        response.statusCode !== 200
          ? `${host} answered ${response.statusCode}`
          : /^text\/plain\b/i.test(type)
            ? undefined
            : `${host} answered with ${type || "no content type"} instead of text/plain`;
      if (wrong) {
        request.destroy();
        return reject(new Error(wrong));
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxPolicyBytes)
          request.destroy(new Error(`the policy of ${host} is larger than ${maxPolicyBytes} bytes`));
      });
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
      response.on("error", reject);
    });
  });
}
