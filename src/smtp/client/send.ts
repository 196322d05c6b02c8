/**
 * The SMTP client: delivers one message to a domain's MX hosts or to a relay. Called by delivery/transport.ts.
 * route.ts finds hosts and addresses, pool.ts shares connections, session.ts and transaction.ts speak the protocol.
 * Read pool.ts next, then transaction.ts; evidence.ts lists what an attempt can report.
 */
import net from "node:net";
import type { DanePolicy } from "./dane.ts";
import type { Message } from "./envelope.ts";
import type { Evidence } from "./evidence.ts";
import type { Pool } from "./pool.ts";
import type { Progress } from "./progress.ts";
import {
  findAddresses,
  findHosts,
  type HostAddresses,
  type MxResolver,
  type MxRoute,
  type RouteDeps,
} from "./route.ts";
import type { TransactionResult } from "./session.ts";
import type { Target, Timeouts } from "./target.ts";
import { findDanePolicy } from "./tlsa.ts";

export interface SmtpDelivery {
  message: Message;
  /** The recipients' domain, whose MX hosts are looked up; or a relay, which needs no MX lookup. */
  to: { domain: string; port?: number } | { relay: Pick<Target, "host" | "port" | "implicitTls" | "auth" | "tlsCa"> };
  heloName: string;
  tls: Target["tls"];
  /** False for hosts that the domain's MTA-STS policy does not list (RFC 8461 §4.1). Hosts with usable TLSA records need no permission. */
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
  /** A resolver that validates DNSSEC. With it, DANE applies to hosts with TLSA records. It finds the hosts of all domains; the addresses
   * of hosts that DANE cannot apply to come from `resolver`, so that they do not depend on it. */
  validating?: MxResolver;
  /** Maximum number of addresses tried for one message, over all hosts. */
  maxTries?: number;
  now?: () => number;
}

export interface SmtpSender {
  /** DNS and network failures are in the result; the promise rejects only on a bug. */
  send(request: SmtpDelivery): Promise<SmtpDeliveryResult>;
}

/** A host that mail may be sent to. `findDaneAgain` looks its TLSA records up without the cache. */
type PreparedHost = Pick<HostAddresses, "addresses"> & {
  host: string;
  dane?: DanePolicy;
  findDaneAgain?: () => ReturnType<typeof findDanePolicy>;
};

/** How long a sender remembers broken STARTTLS and missing IPv6. */
const rememberMs = 10 * 60_000;
const maxRemembered = 10_000;

export function createSmtpSender(deps: SmtpSenderDeps): SmtpSender {
  const { validating, maxTries = 5, now = () => performance.now() } = deps;
  /** This machine has no IPv6 route: set by one failed connection, expires after `rememberMs`. */
  let noIpv6Until = 0;
  /** Host and port of servers whose STARTTLS failed, and until when to skip it there. */
  const brokenTlsUntil = new Map<string, number>();

  async function send(request: SmtpDelivery): Promise<SmtpDeliveryResult> {
    request.progress?.wait("open");
    const route =
      "relay" in request.to
        ? relayHosts(request.to.relay.host)
        : await findHosts(request.to.domain, { ...deps, resolver: validating ?? deps.resolver }, request.signal);
    if ("failure" in route) return undelivered(request, route.failure, []);
    const tried: SmtpDeliveryResult["tried"] = [];
    let failure: Evidence | undefined;
    let last: TransactionResult | undefined;
    let disallowed = 0;
    for (const { host } of route.hosts) {
      if (tried.length >= maxTries) break;
      const prepared = await prepareHost(request, route, host);
      if (prepared === "not allowed") {
        disallowed += 1;
        continue;
      }
      if ("failure" in prepared) {
        // A temporary failure of one host outweighs a permanent failure of another.
        failure = failure && isPermanent(prepared.failure) ? failure : prepared.failure;
        continue;
      }
      for (const address of prepared.addresses.filter((candidate) => isReachable(candidate, request))) {
        if (tried.length >= maxTries) break;
        const result = await attemptAt(request, prepared, address);
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
    failure ??= disallowed < route.hosts.length ? noHostLeft : noHostAllowed(request.hostRule);
    // RFC 8461 §5.1: mail does not fail permanently under a policy that may be out of date. The next one may list the other hosts.
    if (disallowed > 0 && isPermanent(failure)) failure = noHostAllowed(request.hostRule);
    return undelivered(request, failure, tried);
  }

  /** Looks up what a connection to the host needs. A host that MTA-STS does not allow can only be used under DANE. */
  async function prepareHost(
    request: SmtpDelivery,
    route: MxRoute,
    host: string,
  ): Promise<PreparedHost | { failure: Evidence } | "not allowed"> {
    const { signal, progress, allowHost } = request;
    const allowed = allowHost?.(host) ?? true;
    const daneResolver = route.secure ? validating : undefined;
    if (!allowed && !daneResolver) return "not allowed";
    progress?.wait("open");
    try {
      const resolver = daneResolver ?? deps.resolver;
      const allowAddress = "relay" in request.to ? () => true : deps.allowAddress;
      const found = await findAddresses(host, { ...deps, resolver, allowAddress }, signal);
      if ("failure" in found) return allowed || found.failure.kind === "aborted" ? found : "not allowed";
      if (!daneResolver) return { host, ...found };
      const findDane = (bypassCache: boolean) =>
        findDanePolicy({ host, addresses: found, domainNames: route.names, bypassCache, signal }, daneResolver);
      const dane = await findDane(false);
      if (dane && "failure" in dane) return dane;
      if (!allowed && !isAuthenticated(dane)) return "not allowed";
      return { host, ...found, ...(dane && { dane, findDaneAgain: () => findDane(true) }) };
    } finally {
      progress?.resume(false);
    }
  }

  /** If the server fails the DANE policy, looks the records up again, once: they may have changed since they were cached. */
  async function attemptAt(request: SmtpDelivery, prepared: PreparedHost, address: string): Promise<TransactionResult> {
    const result = await attempt(request, prepared, address);
    const { dane: used, findDaneAgain } = prepared;
    const unopened = openingFailure(result);
    if (!used || !findDaneAgain || unopened?.kind !== "tls" || !unopened.dane) return result;
    prepared.findDaneAgain = undefined;
    request.progress?.wait("open");
    const current = await findDaneAgain();
    request.progress?.resume(false);
    if (current && ("failure" in current || current.key === used.key)) return result;
    if (!isAuthenticated(current) && !(request.allowHost?.(prepared.host) ?? true)) return result;
    prepared.dane = current;
    return attempt(request, prepared, address);
  }

  async function attempt(request: SmtpDelivery, prepared: PreparedHost, address: string): Promise<TransactionResult> {
    const target = targetOf(request, prepared, address);
    const hostPort = `${prepared.host}:${target.port}`;
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

function relayHosts(host: string): MxRoute {
  return { hosts: [{ host, preference: 0 }], secure: false, names: [] };
}

/** RFC 7672 §2.2: records that are all unusable demand TLS, but authenticate nothing. */
function isAuthenticated(dane: DanePolicy | undefined): boolean {
  return dane !== undefined && dane.records.length > 0;
}

/** RFC 8461 §2: DANE comes before MTA-STS. Only unusable TLSA records leave the certificate to the caller's policy. */
function tlsOf(request: SmtpDelivery, dane: DanePolicy | undefined): Target["tls"] {
  if (!dane) return request.tls;
  return request.tls === "verified" && !isAuthenticated(dane) ? "verified" : "required";
}

function targetOf(request: SmtpDelivery, { host, dane }: PreparedHost, address: string): Target {
  const { to } = request;
  const tls = tlsOf(request, dane);
  const { localAddress, heloName } = request.sourceFor?.(address) ?? {
    localAddress: undefined,
    heloName: request.heloName,
  };
  if ("relay" in to) return { ...to.relay, address, heloName, tls, localAddress };
  return { host, address, port: to.port ?? 25, heloName, tls, dane, localAddress };
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
