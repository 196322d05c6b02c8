/** Takes a message to a domain or to a relay: host after host and address after address, until one of them answers. */
import net from "node:net";
import type { Evidence } from "../rules/outcome-evidence.ts";
import type { TransactionResult } from "./client.ts";
import type { Message } from "./envelope.ts";
import type { Pool } from "./pool.ts";
import { findAddresses, findHosts, type MxHost, type RouteDeps } from "./route.ts";
import type { Target } from "./target.ts";

export interface SendRequest {
  message: Message;
  /** The recipients' domain, whose MX hosts are looked up; or a relay, whose name is taken as it is. */
  to: { domain: string; port?: number } | { relay: Pick<Target, "host" | "port" | "implicitTls" | "auth" | "tlsCa"> };
  heloName: string;
  tls: Target["tls"];
  /** Only these hosts may be used, MTA-STS (RFC 8461 §4.1). */
  allowHost?: (host: string) => boolean;
  /** Why `allowHost` may leave none. */
  hostRule?: string;
  /** Which of our addresses a server is spoken to from, and under which name; undefined: it cannot be. */
  sourceFor?: (address: string) => { localAddress: string; heloName: string } | undefined;
  /** Hosts whose connections are counted together. */
  group?: string;
  /** Connections to the group, or to one host where there is none. */
  limit?: number;
  /** Messages on one connection. */
  maxTransactions?: number;
  signal?: AbortSignal;
}

export interface SendResult extends Omit<TransactionResult, "remote"> {
  /** The server that answered, or the last one tried; null when no address was found. */
  remote: TransactionResult["remote"] | null;
  /** Connections that led nowhere before this one, in order. */
  tried: { host: string; address: string; failure: Evidence }[];
}

export interface SenderDeps extends RouteDeps {
  pool: Pool;
  /** Connections tried for one message, however many hosts and addresses there are. */
  maxTries?: number;
  now?: () => number;
}

export interface Sender {
  /** Never rejects for what DNS or the network does. */
  send(request: SendRequest): Promise<SendResult>;
}

export function createSender(deps: SenderDeps): Sender {
  const { maxTries = 5, now = Date.now } = deps;
  /** No IPv6 from this machine: learnt from one failure, forgotten after a while. */
  let noIpv6Until = 0;
  /** Hosts whose STARTTLS broke: the next messages need not find that out again. */
  const brokenTls = new Map<string, number>();

  async function send(request: SendRequest): Promise<SendResult> {
    const route =
      "relay" in request.to
        ? relayHosts(request.to.relay.host)
        : await findHosts(request.to.domain, deps, request.signal);
    if ("failure" in route) return nowhere(request, route.failure, []);
    const tried: SendResult["tried"] = [];
    let failure: Evidence | undefined;
    let last: TransactionResult | undefined;
    const hosts = route.hosts.filter((candidate) => request.allowHost?.(candidate.host) ?? true);
    if (hosts.length === 0) return nowhere(request, noHostAllowed(request.hostRule), []);
    for (const { host } of hosts) {
      if (tried.length >= maxTries) break;
      const found = await findAddresses(
        host,
        "relay" in request.to ? { ...deps, allowAddress: () => true } : deps,
        request.signal,
      );
      if ("failure" in found) {
        // A host that could be reached at another time decides over one that cannot exist.
        failure = failure && isPermanent(found.failure) ? failure : found.failure;
        continue;
      }
      for (const address of found.addresses.filter((candidate) => isReachable(candidate, request))) {
        if (tried.length >= maxTries) break;
        const result = await attempt(request, host, address);
        const opening = openingFailure(result);
        if (!opening) return { ...result, tried };
        learn(address, opening);
        tried.push({ host, address, failure: opening });
        failure = opening;
        last = result;
        if (opening.kind === "aborted") return { ...result, tried };
      }
    }
    if (last) return { ...withEvidence(last, failure as Evidence), tried };
    return nowhere(request, failure ?? noHostLeft, tried);
  }

  async function attempt(request: SendRequest, host: string, address: string): Promise<TransactionResult> {
    const target = targetOf(request, host, address);
    const place = `${host}:${target.port}`;
    const opportunistic = target.tls === "opportunistic" && !target.implicitTls;
    const { message, group, limit, maxTransactions, signal } = request;
    if (!(opportunistic && (brokenTls.get(place) ?? 0) > now())) {
      const result = await deps.pool.transact({ target, message, group, limit, maxTransactions, signal });
      if (!opportunistic || openingFailure(result)?.kind !== "tls") return result;
      remember(place);
    }
    // RFC 3207 §4.1 leaves it to the client: mail in clear is better than none where nobody asked for more.
    return deps.pool.transact({
      ...{ target: { ...target, tls: "none" }, message, group, limit, maxTransactions, signal },
    });
  }

  function isReachable(address: string, request: SendRequest): boolean {
    if (request.sourceFor && !request.sourceFor(address)) return false;
    return net.isIPv4(address) || noIpv6Until <= now();
  }

  function learn(address: string, failure: Evidence): void {
    const unreachable =
      failure.kind === "lost" && ["ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(failure.code);
    if (unreachable && net.isIPv6(address)) noIpv6Until = now() + memoryMs;
  }

  function remember(place: string): void {
    const [oldest] = brokenTls.keys();
    if (oldest !== undefined && brokenTls.size >= maxRemembered) brokenTls.delete(oldest);
    brokenTls.set(place, now() + memoryMs);
  }

  return { send };
}

/**
 * Why the next address should be tried, or undefined when this server has answered. RFC 5321 §5.1 asks for the next one
 * when no session comes about. Refusals of a sender, a recipient or a message are answers: a second server of the same
 * receiver would at best repeat them and at worst count them against us.
 */
function openingFailure(result: TransactionResult): Evidence | undefined {
  const [first] = result.recipients;
  if (!first || result.recipients.some(({ result: evidence }) => evidence !== first.result)) return undefined;
  const evidence = first.result;
  if (!("phase" in evidence)) return undefined;
  if (["connect", "banner", "ehlo", "tls", "auth"].includes(evidence.phase)) return evidence;
  const closed = evidence.kind === "lost" || (evidence.kind === "refused" && evidence.reply.code === 421);
  return evidence.phase === "mail" && closed ? evidence : undefined;
}

function isPermanent(evidence: Evidence): boolean {
  return evidence.kind === "unroutable" && evidence.reason !== "servfail" && evidence.reason !== "dns-timeout";
}

function relayHosts(host: string): { hosts: MxHost[] } {
  return { hosts: [{ host, preference: 0 }] };
}

function targetOf(request: SendRequest, host: string, address: string): Target {
  const { tls, to } = request;
  const { localAddress, heloName } = request.sourceFor?.(address) ?? {
    localAddress: undefined,
    heloName: request.heloName,
  };
  if ("relay" in to) return { ...to.relay, address, heloName, tls, localAddress };
  return { host, address, port: to.port ?? 25, heloName, tls, localAddress };
}

function withEvidence(result: TransactionResult, evidence: Evidence): TransactionResult {
  return { ...result, recipients: result.recipients.map(({ address }) => ({ address, result: evidence })) };
}

function nowhere(request: SendRequest, failure: Evidence, tried: SendResult["tried"]): SendResult {
  return {
    recipients: request.message.recipients.map((address) => ({ address, result: failure })),
    stage: "connect",
    inDoubt: false,
    tls: null,
    remote: null,
    localAddress: "",
    reused: 0,
    tried,
  };
}

const memoryMs = 10 * 60_000;
const maxRemembered = 10_000;

function noHostAllowed(rule = "the policy"): Evidence {
  return { kind: "tls", phase: "tls", reply: null, message: `${rule} allows none of the domain's mail servers` };
}

const noHostLeft: Evidence = {
  kind: "lost",
  phase: "connect",
  code: "EHOSTUNREACH",
  message: "none of the domain's mail servers can be reached from here",
};
