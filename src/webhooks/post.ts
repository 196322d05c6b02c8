/** Posts a body to an endpoint: `createTargetFinder` resolves the host to allowed IP addresses, `createPoster` connects only to those and
 * always returns within the timeout. Redirects are not followed. Used by the webhook role, SendTestWebhook and the checks of a new URL. */

import { isIP } from "node:net";
import { canonicalName, type Lookup } from "../dns/record.ts";
import { createEndings } from "./ending.ts";
import { createAgents, type ExchangeOptions, exchangeHttp, type HttpResult } from "./exchange.ts";
import type { WebhookAnswer } from "./rules/retry.ts";
import { refusedAddress, type WebhookGuard, type WebhookTarget } from "./rules/url.ts";

export type PostRequest = { url: string; headers: Record<string, string>; body: string };

/** What was sent and received, as the delivery log shows it. */
export type Exchange = {
  url: string;
  /** One header per line. Empty when no request was made. */
  requestHeaders: string;
  /** Status line and headers. Empty without a response. */
  responseHeaders: string;
  /** The first 4 KiB. */
  responseBody: string;
};

export type PostResult = {
  answer: WebhookAnswer;
  status: number | undefined;
  durationMs: number;
  exchange: Exchange;
};

export type Poster = {
  /** Undefined when `signal` aborted the request: whether it arrived is unknown. */
  post(request: PostRequest, signal: AbortSignal): Promise<PostResult | undefined>;
  stop(): void;
};

export type PosterDeps = {
  guard: WebhookGuard;
  finder: TargetFinder;
  userAgent: string;
  /** For DNS, connection, TLS, request and response together. */
  timeoutMs: number;
};

export type AddressResolver = {
  lookup<T extends "A" | "AAAA">(name: string, type: T, options?: { signal?: AbortSignal }): Promise<Lookup<T>>;
};

/** `refused`: the host has addresses, but none that we may connect to. */
export type FoundAddresses = { kind: "found"; addresses: string[] } | { kind: "refused" | "unknown"; error: string };

export type TargetFinder = {
  /** IPv4 first, since networks without IPv6 are more common than networks without IPv4. */
  addressesOf(target: WebhookTarget, signal?: () => AbortSignal): Promise<FoundAddresses>;
  /** The URL in the form to store, or what to change. A host that DNS does not know yet is accepted: each request checks it again. */
  check(text: string, signal?: AbortSignal): Promise<{ url: string } | { problem: string }>;
};

/** Addresses of one host that are tried in one attempt. */
const maxAddresses = 3;
const maxErrorLength = 500;
const maxKnownUrls = 1000;
const fixedHeaders = ["content-type", "application/json; charset=utf-8", "accept", "*/*"];

export function createPoster(deps: PosterDeps): Poster {
  const agents = createAgents();
  const readUrl = createUrlReader(deps.guard);
  const endings = createEndings({
    ms: deps.timeoutMs,
    error: `no complete response within ${deps.timeoutMs / 1000} s`,
  });

  async function postToAddresses(
    target: WebhookTarget,
    request: Pick<ExchangeOptions, "path" | "headers" | "body" | "ending">,
  ): Promise<HttpResult> {
    const found = await deps.finder.addressesOf(target, request.ending.signal);
    if (found.kind !== "found") return failed(found.error);
    const agent = target.protocol === "https:" ? agents.https : agents.http;
    let last = failed("no address");
    const addresses = found.addresses.slice(0, maxAddresses);
    for (const [i, address] of addresses.entries()) {
      const connectMs = i < addresses.length - 1 ? Math.ceil(deps.timeoutMs / maxAddresses) : undefined;
      last = await exchangeHttp({ ...request, target, address, agent, connectMs });
      if (last.unsent === "stale") last = await exchangeHttp({ ...request, target, address, agent: false, connectMs });
      if (last.unsent !== "unreached" || request.ending.reason()) break;
    }
    return last;
  }

  return {
    async post({ url, headers, body }, signal) {
      const began = performance.now();
      const read = readUrl(url);
      const sent = [
        ...("target" in read ? ["host", read.authority] : []),
        ...fixedHeaders,
        "user-agent",
        deps.userAgent,
        ...Object.entries(headers).flat(),
        "content-length",
        String(Buffer.byteLength(body)),
      ];
      const ending = endings.start(signal);
      try {
        const result =
          "problem" in read
            ? failed(`the URL of the webhook ${read.problem}`)
            : await postToAddresses(read.target, { path: read.path, headers: sent, body, ending }).catch(
                (error: Error) => failed((ending.reason() ?? error).message),
              );
        if (signal.aborted) return undefined;
        const exchange = {
          url,
          requestHeaders: result.unsent === "unreached" ? "" : linesOf(sent),
          responseHeaders: result.headers,
          responseBody: result.body,
        };
        return { ...answerOf(result), durationMs: Math.round(performance.now() - began), exchange };
      } finally {
        ending.done();
      }
    },
    stop: () => agents.destroy(),
  };
}

type ReadUrl = { target: WebhookTarget; authority: string; path: string } | { problem: string };

/** Reads URLs and remembers the latest, because parsing one takes as long as the rest of a request's preparation. */
function createUrlReader(guard: WebhookGuard): (url: string) => ReadUrl {
  const known = new Map<string, ReadUrl>();
  return (url) => {
    let read = known.get(url);
    if (read) return read;
    const target = guard.read(url);
    if ("problem" in target) return target;
    const { host, pathname, search } = new URL(target.url);
    read = { target, authority: host, path: pathname + search };
    if (known.size >= maxKnownUrls) known.clear();
    known.set(url, read);
    return read;
  };
}

/** A 2xx response counts only if it is complete; for other responses the status is enough. */
function answerOf({ status, location, error }: HttpResult): Pick<PostResult, "answer" | "status"> {
  const success = status !== undefined && status >= 200 && status < 300;
  if (status !== undefined && (error === undefined || !success))
    return { answer: { kind: "answered", status, location }, status };
  // The endpoint's certificate can put any text into an error, so remove what PostgreSQL cannot store.
  const text = (error ?? "no answer").slice(0, maxErrorLength).toWellFormed().replaceAll("\0", "\ufffd");
  return { answer: { kind: "failed", error: text }, status };
}

function linesOf(headers: readonly string[]): string {
  let lines = "";
  for (let i = 0; i < headers.length; i += 2) lines += `${i === 0 ? "" : "\n"}${headers[i]}: ${headers[i + 1]}`;
  return lines;
}

/** No request was made. */
function failed(error: string): HttpResult {
  return { status: undefined, location: undefined, headers: "", body: "", error, unsent: "unreached" };
}

/** Finds the IP addresses that a webhook may be posted to. The poster connects to one of them without another lookup, so that DNS cannot
 * return a different address after the check (DNS rebinding). */
export function createTargetFinder(deps: {
  resolver: AddressResolver;
  guard: WebhookGuard;
  /** For the operator's log: the error for the tenant does not contain the addresses. */
  onRefused?(host: string, addresses: readonly string[]): void;
}): TargetFinder {
  const { resolver, guard } = deps;

  async function addressesOf(target: WebhookTarget, signal?: () => AbortSignal): Promise<FoundAddresses> {
    const found = await lookUp(resolver, target.host, signal);
    if ("error" in found) return { kind: "unknown", error: found.error };
    const addresses = found.addresses.filter((ip) => guard.allows(target, ip));
    if (addresses.length > 0) return { kind: "found", addresses };
    deps.onRefused?.(target.host, found.addresses);
    return { kind: "refused", error: refusedAddress(target) };
  }

  return {
    addressesOf,
    async check(text, signal) {
      const target = guard.read(text);
      if ("problem" in target) return target;
      const found = await addressesOf(target, signal && (() => signal));
      return found.kind === "refused" ? { problem: found.error } : { url: target.url };
    },
  };
}

async function lookUp(
  resolver: AddressResolver,
  host: string,
  signalOf?: () => AbortSignal,
): Promise<{ addresses: string[] } | { error: string }> {
  if (isIP(host) !== 0) return { addresses: [host] };
  // RFC 6761 §6.3: these names always mean this host and are not looked up.
  if (host === "localhost" || canonicalName(host).endsWith(".localhost")) return { addresses: ["127.0.0.1", "::1"] };
  const signal = signalOf?.();
  const answers = await Promise.all([
    resolver.lookup(host, "A", { signal }),
    resolver.lookup(host, "AAAA", { signal }),
  ]);
  const addresses = answers.flatMap((answer) =>
    answer.kind === "found" ? answer.records.map((record) => record.address) : [],
  );
  if (addresses.length > 0) return { addresses };
  const kinds = answers.map((answer) => answer.kind);
  if (kinds.includes("timeout")) return { error: `the DNS lookup of ${host} timed out` };
  if (kinds.includes("servfail")) return { error: `the DNS lookup of ${host} failed` };
  return { error: kinds.includes("nxdomain") ? `the host ${host} does not exist` : `the host ${host} has no address` };
}
