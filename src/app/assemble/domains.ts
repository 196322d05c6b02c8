/** Wires DNS and domains: our DNS server, the program's one resolver, registration and checks. Called by assemble.ts and by commands. */
import { audited } from "../../audit/record.ts";
import { createAddressGuard } from "../../dns/address-guard.ts";
import { type Authoritative, createAuthoritative } from "../../dns/authoritative.ts";
import { createAuthority } from "../../dns/authority.ts";
import { isAtOrBelow } from "../../dns/record.ts";
import { createResolver, type Resolver } from "../../dns/resolver.ts";
import type { ServerAddress } from "../../dns/servers.ts";
import { type ZoneFinder, zoneList } from "../../dns/zone.ts";
import { createDomainCheck } from "../../domains/check.ts";
import { type Checker, createChecker, createCheckLoop } from "../../domains/checker.ts";
import { createKeyGate, createKeyMaker } from "../../domains/key-pair.ts";
import { isPublishable, isReserved, localZones, publish } from "../../domains/publish.ts";
import { createRegistrar, type Registrar } from "../../domains/register.ts";
import { createRotate, type Rotate } from "../../domains/rotate.ts";
import { createDomainService } from "../../domains/service.ts";
import { createServedNames, nameServersOf, type ServiceZone, serviceZone } from "../../domains/service-zone.ts";
import { sharedDomainPage } from "../../domains/shared-page.ts";
import { getDomain } from "../../domains/store/domains.ts";
import { findPublishedZone } from "../../domains/store/published-zones.ts";
import type { ServiceEntry } from "../../http/call.ts";
import type { PageHandler } from "../../http/dispatch.ts";
import type { Log } from "../../ops/log.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Secrets } from "../../postgres/sealing.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import type { Config } from "../config.ts";
import { type Host, ownProcess } from "../host.ts";

export type Dns = {
  /** Delivery, inbound mail and domain checks share this resolver and its cache. */
  resolver: Resolver;
  authoritative: Authoritative;
  /** Whether we may connect to an address that DNS returned for a name we do not control. */
  allowAddress: (ip: string) => boolean;
  /** Where the DNS server listens, when this process runs it. */
  listening: ServerAddress | undefined;
  stop(): Promise<void>;
};

type DnsDeps = { config: Config; sql: Sql; log: Log; nowMs: () => number };

/** `serve`: listen as configured. Otherwise the server runs only where local names need it, on a free loopback port. */
export async function startDns(deps: DnsDeps & { serve: boolean; host?: Host }): Promise<Dns> {
  const { config, log, host = ownProcess } = deps;
  const authority =
    deps.serve || usesOwnDns(config)
      ? createAuthority({
          ...(deps.serve
            ? { ...config.dns, sockets: host.dnsSockets, part: host.part }
            : { host: "127.0.0.1", port: 0 }),
          findZone: zonesOf(deps),
          onError: logFailures(log),
        })
      : undefined;
  if (deps.serve && publicIpsOf(config).length === 0)
    log.warn("POSTHORN_PUBLIC_IPS is not set: SPF authorizes no address, and the zone's hosts have none");
  const bound = await authority?.start();
  const own = bound && usesOwnDns(config) ? [reachable(bound)] : undefined;
  const askOwn = (name: string) => (isReserved(name) || isAtOrBelow(name, config.zone) ? own : undefined);
  const resolver = createResolver({ servers: config.resolvers, routes: askOwn });
  const allowAddress = createAddressGuard({ allowCidrs: config.allowPrivateMx });
  return {
    resolver,
    allowAddress,
    authoritative: createAuthoritative({ resolver, allowAddress, knownServers: askOwn, port: config.nameServerPort }),
    listening: deps.serve ? bound : undefined,
    async stop() {
      resolver.stop();
      await authority?.stop();
    },
  };
}

export type DomainsPart = {
  service: ServiceEntry;
  /** Endpoints that are not RPCs, by path. */
  pages: Map<string, PageHandler>;
  registrar: Registrar;
  checker: Checker;
  rotate: Rotate;
  /** Starts the background checks. */
  startLoop(): void;
  stop(): Promise<void>;
};

/** `quotas` is undefined for the operator's commands, which also check DNS as often as they like (`checksAlways`). */
type DomainDeps = DnsDeps & {
  secrets: Secrets;
  dns: Dns;
  quotas?: Quotas;
  onEvent?: () => void;
  checksAlways?: boolean;
};

export function createDomains(deps: DomainDeps): DomainsPart {
  const { config, sql, log, dns } = deps;
  const { zone, region, verifyIntervalMs } = config;
  const { secrets, nowMs } = deps;
  const gate = createKeyGate();
  const makeKeys = createKeyMaker({ gate, primes: config.dkimPrimes });
  const { quotas } = deps;
  const registrar = createRegistrar({ sql, secrets, nowMs, makeKeys, zone, region, quotas });
  const rotate = createRotate({ sql, secrets, nowMs, makeKeys });
  const check = createDomainCheck({ resolver: dns.resolver, authoritative: dns.authoritative });
  const { findZone } = dns.authoritative;
  const checker = createChecker({
    sql,
    log,
    check,
    findZone,
    zone,
    publicUrl: config.publicUrl,
    verifyIntervalMs,
    nowMs,
    onEvent: deps.onEvent,
  });
  const loop = createCheckLoop({ sql, log, checker });
  return {
    registrar,
    checker,
    rotate,
    service: createDomainService({
      sql,
      secrets,
      keyGate: gate,
      zone,
      nowMs,
      publicUrl: config.publicUrl,
      register: registrar.register,
      checker: deps.checksAlways ? checkingAlways(checker) : checker,
      rotate,
      servesLocally: (domain) => servesLocally(config, domain),
      async publishLocally({ workspaceId, id, actor }, beginWrite) {
        const row = await getDomain(sql, workspaceId, id);
        if (!row) return undefined;
        if (config.delivery !== "capture") throw noLocalDns();
        beginWrite();
        await audited(
          sql,
          actor,
          (tx) => publish(tx, row, { zone, takeOver: false }),
          () => ({ action: "domain.published", workspaceId, target: { kind: "domain", id } }),
        );
        return await checker.refresh(workspaceId, id);
      },
    }),
    pages: new Map([
      [
        "/shared/domain",
        sharedDomainPage({
          sql,
          log,
          zone,
          publicUrl: config.publicUrl,
          trustedProxies: config.trustedProxies,
          checker,
        }),
      ],
    ]),
    startLoop: loop.start,
    async stop() {
      const ended = loop.stop();
      await checker.stop();
      await ended;
    },
  };
}

/** A short command waits for no pause between two checks, and ends before a search in the background would. */
function checkingAlways(checker: Checker): Pick<Checker, "get" | "verify" | "locate"> {
  return {
    get: checker.get,
    async verify(workspaceId, id) {
      const row = await checker.refresh(workspaceId, id);
      return row && { row, wasRefreshed: true, nextRetryAt: undefined };
    },
    locate() {},
  };
}

/** The input of our own zone, for the DNS server and for its export as a zone file. */
export function serviceZoneOf(config: Config, nowMs: number): ServiceZone {
  const { zone, hostname } = config;
  return { zone, hostname, publicIps: publicIpsOf(config), serial: Math.floor(nowMs / 1000) };
}

/** In capture mode mail stays on this machine, so loopback is its public address. */
function publicIpsOf(config: Config): readonly string[] {
  return config.publicIps.length === 0 && config.delivery === "capture" ? ["127.0.0.1"] : config.publicIps;
}

/** Whether lookups of local names go to our own DNS server: in capture mode, unless the operator set POSTHORN_RESOLVERS. */
export function usesOwnDns(config: Config): boolean {
  return config.delivery === "capture" && config.resolvers === undefined;
}

/** Whether records that we publish in our own DNS for this domain are found by our lookups. */
export function servesLocally(config: Config, domain: string): boolean {
  return usesOwnDns(config) && isPublishable(domain, config.zone);
}

function noLocalDns(): Problem {
  return new Problem(
    "failed_precondition",
    "This server does not run in capture mode, so its DNS does not serve customers' records. Publish them at the domain's DNS provider.",
  );
}

function zonesOf({ config, sql, nowMs }: DnsDeps): ZoneFinder {
  const input = serviceZoneOf(config, nowMs());
  const service = serviceZone(input, createServedNames({ sql }));
  if (config.delivery !== "capture") return zoneList([service]);
  return localZones({
    service,
    published: (origins) => findPublishedZone(sql, origins),
    serial: input.serial,
    nameServers: nameServersOf(input),
  });
}

/** Any client on the internet can make answers fail, so at most one line is logged in ten seconds, with a count. */
function logFailures(log: Log): (error: unknown) => void {
  let count = 0;
  let quietUntil = 0;
  return (error) => {
    count += 1;
    if (performance.now() < quietUntil) return;
    log.warn({ reason: (error as Error).message, count }, "DNS answers failed");
    count = 0;
    quietUntil = performance.now() + 10_000;
  };
}

/** A server that listens on all addresses is reached over loopback. */
function reachable({ host, port }: ServerAddress): ServerAddress {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return host === "::" ? { host: "::1", port } : { host, port };
}
