/** The simulated internet of posthorn demo, on loopback: a DNS provider, and a receiver's mail server with the mailboxes ada and grace. */
import { createAuthority } from "../../../dns/authority.ts";
import { isAtOrBelow, type ResourceRecord } from "../../../dns/record.ts";
import { createResolver, type Resolver } from "../../../dns/resolver.ts";
import { recordsZone, textRecord, type Zone } from "../../../dns/zone.ts";
import type { Verdicts } from "../../../inbound/rules/events.ts";
import { createVerdicts } from "../../../inbound/verdicts.ts";
import { createConnectionShares } from "../../../shares/connections.ts";
import { createCertificate } from "../../../smtp/server/certificate.ts";
import { createMessageMemory } from "../../../smtp/server/message-memory.ts";
import type { IncomingMail, ServerPolicy } from "../../../smtp/server/policy.ts";
import { createSmtpServer } from "../../../smtp/server/server.ts";

export const receiverDomain = "friends.test";
const loopback = "127.0.0.1";
const nameServer = `ns.provider.test`;

export type ReceivedMail = { mail: IncomingMail; verdicts: Verdicts };

export type DemoNetwork = {
  dnsPort: number;
  mailPort: number;
  /** Resolves every name of the demo, like a public resolver. */
  resolver: Resolver;
  /** Mail that the receiver accepted, in order of arrival. */
  received: ReceivedMail[];
  /** Stands for entering the records at the DNS provider. */
  publish(domain: string, records: readonly ResourceRecord[]): void;
  /** Delegates a zone to the DNS server on this port. */
  delegate(zone: string, port: number): void;
  stop(): Promise<void>;
};

export async function startDemoNetwork(): Promise<DemoNetwork> {
  const zones = new Map<string, Zone>();
  const publish = (origin: string, records: readonly ResourceRecord[]) =>
    void zones.set(origin, recordsZone({ origin, records, serial: 1, nameServers: [nameServer] }));
  const delegated: Resolver[] = [];
  const dns = createAuthority({
    host: loopback,
    port: 0,
    findZone: (name) => [...zones.values()].find((zone) => isAtOrBelow(name, zone.origin)),
  });
  const { port: dnsPort } = await dns.start();
  const resolver = createResolver({ servers: [{ host: loopback, port: dnsPort }] });
  publish("provider.test", [{ name: nameServer, ttl: 60, type: "A", address: loopback }]);
  publish(receiverDomain, [
    { name: receiverDomain, ttl: 60, type: "MX", priority: 10, exchange: `mx.${receiverDomain}` },
    { name: `mx.${receiverDomain}`, ttl: 60, type: "A", address: loopback },
    textRecord(receiverDomain, `v=spf1 ip4:${loopback} -all`),
  ]);

  const received: ReceivedMail[] = [];
  const smtp = createSmtpServer({
    host: loopback,
    port: 0,
    hostname: `mx.${receiverDomain}`,
    shares: createConnectionShares({ total: 50, factor: 100, perAddress: 50 }),
    policy: receiverPolicy(received, resolver),
    limits: {
      messageBytes: 50 * 1024 * 1024,
      recipients: 100,
      errors: 20,
      messages: 100,
      idleCommands: 100,
      commandMs: 60_000,
      dataMs: 60_000,
      dataTotalMs: 60_000,
      minimumRate: { bytesPerSecond: 512, graceMs: 60_000 },
      messageMs: 600_000,
      sessionMs: 3_600_000,
    },
    secureContext: createCertificate({
      files: undefined,
      hostname: `mx.${receiverDomain}`,
      nowMs: Date.now,
      onProblem() {},
    }),
    memory: createMessageMemory({ bytes: 150 * 1024 * 1024, unsharedBytes: 0, factor: 100 }),
    onError() {},
  });
  const { port: mailPort } = await smtp.start();
  return {
    dnsPort,
    mailPort,
    resolver,
    received,
    publish,
    delegate(zone, port) {
      const target = createResolver({ servers: [{ host: loopback, port }] });
      delegated.push(target);
      zones.set(zone, forwarded(zone, target));
    },
    async stop() {
      for (const one of [resolver, ...delegated]) one.stop();
      await smtp.stop(500);
      await dns.stop();
    },
  };
}

/** Accepts mail for ada, defers the first attempt for grace (greylisting), and rejects every other address. */
function receiverPolicy(received: ReceivedMail[], resolver: Resolver): ServerPolicy {
  const known = new Set<string>();
  const judge = createVerdicts({ resolver, hostname: `mx.${receiverDomain}`, onProblem() {} });
  return {
    async recipient(address) {
      const name = address.toLowerCase();
      if (name === `ada@${receiverDomain}`) return { address: name };
      if (name !== `grace@${receiverDomain}`) return { reply: "550 5.1.1 No such user" };
      if (known.has(name)) return { address: name };
      known.add(name);
      return { reply: "451 4.7.1 Try again later" };
    },
    async message(mail) {
      received.push({ mail, verdicts: await judge(mail) });
      return "250 2.0.0 Thank you";
    },
  };
}

/** A zone that forwards queries to the DNS server that it is delegated to. */
function forwarded(origin: string, target: Resolver): Zone {
  const { soa } = recordsZone({ origin, records: [], serial: 1, nameServers: [`ns1.${origin}`] });
  return {
    origin,
    soa,
    async find(name) {
      const types = ["A", "MX", "TXT", "NS"] as const;
      const answers = await Promise.all(types.map((type) => target.lookup(name, type)));
      const records = answers.flatMap((answer) => (answer.kind === "found" ? answer.records : []));
      return records.length > 0 || answers.some(({ kind }) => kind === "nodata") ? records : undefined;
    },
  };
}

/** A DNS record as AddDomain returns it. */
export type WireRecord = { type: string; name: string; value: string; priority?: number };

/** The same record as a DNS server stores it. */
export function resourceRecord({ type, name, value, priority = 10 }: WireRecord): ResourceRecord {
  const ttl = 60;
  if (type === "TXT") return { ...textRecord(name, value), ttl };
  if (type === "MX") return { name, ttl, type, priority, exchange: value };
  return { name, ttl, type: "CNAME", target: value };
}
