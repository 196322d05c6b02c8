/**
 * The SMTP client: delivers one message to a domain's MX hosts or to a relay. Called by delivery/transport.ts.
 * route.ts finds hosts and addresses, pool.ts shares connections, session.ts and transaction.ts speak the protocol.
 * Read pool.ts next, then transaction.ts; evidence.ts lists what an attempt can report.
 */
import net from "node:net";
import type { Message } from "./envelope.ts";
import type { Evidence } from "./evidence.ts";
import type { Pool } from "./pool.ts";
import type { Progress } from "./progress.ts";
import { findAddresses, findHosts, type MxHost, type RouteDeps } from "./route.ts";
import type { TransactionResult } from "./session.ts";
import type { Target, Timeouts } from "./target.ts";

export interface SmtpDelivery {
  message: Message;
  /** The recipients' domain, whose MX hosts are looked up; or a relay, which needs no MX lookup. */
  to: { domain: string; port?: number } | { relay: Pick<Target, "host" | "port" | "implicitTls" | "auth" | "tlsCa"> };
  heloName: string;
  tls: Target["tls"];
  /** False for hosts that the domain's MTA-STS policy does not list (RFC 8461 §4.1). */
  allowHost?: (host: string) => boolean;
  /** Names the policy behind `allowHost` in the error when it allows no host. */
  hostRule?: string;
  /** The source address and HELO name for a server address; undefined when no source address can reach it. */
  sourceFor?: (address: string) => { localAddress: string; heloName: string } | undefined;
  /** Hosts with the same group share one connection limit. */
  group?: string;
  /** Maximum number of connections to the group, or to the host when there is no group. */
  limit?: number;
  /** Maximum number of messages per connection. */
  maxTransactions?: number;
  /** Replaces time-outs while a connection opens. */
  opening?: Partial<Timeouts>;
  progress?: Progress;
  signal?: AbortSignal;
}

export interface SmtpDeliveryResult extends Omit<TransactionResult, "remote"> {
  /** The server that answered, or the last one tried; null when no address was found. */
  remote: TransactionResult["remote"] | null;
  /** Addresses that failed before this one, in order. */
  tried: { host: string; address: string; failure: Evidence }[];
}

export interface SmtpSenderDeps extends RouteDeps {
  pool: Pool;
  /** Maximum number of addresses tried for one message, over all hosts. */
  maxTries?: number;
  now?: () => number;
}

export interface SmtpSender {
  /** DNS and network failures are in the result; the promise rejects only on a bug. */
  send(request: SmtpDelivery): Promise<SmtpDeliveryResult>;
}

/** How long a sender remembers broken STARTTLS and missing IPv6. */
const rememberMs = 10 * 60_000;
const maxRemembered = 10_000;

export function createSmtpSender(deps: SmtpSenderDeps): SmtpSender {
  const { maxTries = 5, now = () => performance.now() } = deps;
  /** This machine has no IPv6 route: set by one failed connection, expires after `rememberMs`. */
  let noIpv6Until = 0;
  /** Host and port of servers whose STARTTLS failed, and until when to skip it there. */
  const brokenTlsUntil = new Map<string, number>();

  async function send(request: SmtpDelivery): Promise<SmtpDeliveryResult> {
    request.progress?.wait("open");
    const route =
      "relay" in request.to
        ? relayHosts(request.to.relay.host)
        : await findHosts(request.to.domain, deps, request.signal);
    if ("failure" in route) return undelivered(request, route.failure, []);
    const tried: SmtpDeliveryResult["tried"] = [];
    let failure: Evidence | undefined;
    let last: TransactionResult | undefined;
    const hosts = route.hosts.filter((candidate) => request.allowHost?.(candidate.host) ?? true);
    if (hosts.length === 0) return undelivered(request, noHostAllowed(request.hostRule), []);
    for (const { host } of hosts) {
      if (tried.length >= maxTries) break;
      request.progress?.wait("open");
      const found = await findAddresses(
        host,
        "relay" in request.to ? { ...deps, allowAddress: () => true } : deps,
        request.signal,
      );
      request.progress?.resume(false);
      if ("failure" in found) {
        // A temporary failure of one host outweighs a permanent failure of another.
        failure = failure && isPermanent(found.failure) ? failure : found.failure;
        continue;
      }
      for (const address of found.addresses.filter((candidate) => isReachable(candidate, request))) {
        if (tried.length >= maxTries) break;
        const result = await attempt(request, host, address);
        const unopened = openingFailure(result);
        if (!unopened) return { ...result, tried };
        noteMissingIpv6(address, unopened);
        tried.push({ host, address, failure: unopened });
        failure = unopened;
        last = result;
        if (unopened.kind === "aborted") return { ...result, tried };
      }
    }
    if (last) return { ...withEvidence(last, failure as Evidence), tried };
    return undelivered(request, failure ?? noHostLeft, tried);
  }

  async function attempt(request: SmtpDelivery, host: string, address: string): Promise<TransactionResult> {
    const target = targetOf(request, host, address);
    const hostPort = `${host}:${target.port}`;
    const opportunistic = target.tls === "opportunistic" && !target.implicitTls;
    const { message, group, limit, maxTransactions, opening, progress, signal } = request;
    const shared = { message, group, limit, maxTransactions, opening, progress, signal };
    if (!(opportunistic && (brokenTlsUntil.get(hostPort) ?? 0) > now())) {
      const result = await deps.pool.transact({ target, ...shared });
      if (!opportunistic || openingFailure(result)?.kind !== "tls") return result;
      rememberBrokenTls(hostPort);
    }
    // RFC 3207 §4.1 leaves this to the client. With opportunistic TLS, plaintext delivery is better than none.
    return deps.pool.transact({ target: { ...target, tls: "none" }, ...shared });
  }

  function isReachable(address: string, request: SmtpDelivery): boolean {
    if (request.sourceFor && !request.sourceFor(address)) return false;
    return net.isIPv4(address) || noIpv6Until <= now();
  }

  function noteMissingIpv6(address: string, failure: Evidence): void {
    const unreachable =
      failure.kind === "lost" && ["ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(failure.code);
    if (unreachable && net.isIPv6(address)) noIpv6Until = now() + rememberMs;
  }

  function rememberBrokenTls(hostPort: string): void {
    const [oldest] = brokenTlsUntil.keys();
    if (oldest !== undefined && brokenTlsUntil.size >= maxRemembered) brokenTlsUntil.delete(oldest);
    brokenTlsUntil.set(hostPort, now() + rememberMs);
  }

  return { send };
}

/**
 * The reason to try the next address, or undefined when this server has answered. RFC 5321 §5.1 requires the next
 * address when no session opens. A refused sender, recipient or message is an answer: another server of the same
 * receiver would repeat it, or count the second attempt against our reputation.
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

function targetOf(request: SmtpDelivery, host: string, address: string): Target {
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

function undelivered(request: SmtpDelivery, failure: Evidence, tried: SmtpDeliveryResult["tried"]): SmtpDeliveryResult {
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

function noHostAllowed(rule = "the policy"): Evidence {
  return { kind: "tls", phase: "tls", reply: null, message: `${rule} allows none of the domain's mail servers` };
}

const noHostLeft: Evidence = {
  kind: "lost",
  phase: "connect",
  code: "EHOSTUNREACH",
  message: "none of the domain's mail servers is reachable from this machine",
};
