/** The checks of posthorn doctor that concern the internet: the zone's delegation, reverse DNS, the certificate, outbound port 25. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import ipaddr from "ipaddr.js";
import { canonicalName, joinText } from "../../../dns/record.ts";
import { createResolver, type Resolver } from "../../../dns/resolver.ts";
import { reverseName } from "../../../dns/reverse-name.ts";
import type { Config } from "../../config.ts";
import type { Listen } from "../../config-shapes.ts";
import type { Finding } from "./finding.ts";

const notNeeded = (check: string): Finding[] => [{ check, result: "ok", found: "not needed in capture mode" }];

export async function withResolver<T>(config: Config, work: (resolver: Resolver) => Promise<T>): Promise<T> {
  const resolver = createResolver({ servers: config.resolvers });
  try {
    return await work(resolver);
  } finally {
    resolver.stop();
  }
}

/** Whether public DNS finds our zone and, in it, our addresses. */
export async function delegationChecks(config: Config): Promise<Finding[]> {
  if (config.delivery === "capture") return notNeeded("zone");
  const { zone } = config;
  const fix = `At the provider of the parent zone, delegate ${zone}: NS ns1.${zone}, with this machine's address as its A record; or load the output of posthorn domains zone there.`;
  return await withResolver(config, async (resolver) => {
    const [servers, spf, inbound] = await Promise.all([
      resolver.lookup(zone, "NS"),
      resolver.lookup(`spf.${zone}`, "TXT"),
      resolver.lookup(`inbound.${zone}`, "A"),
    ]);
    if (servers.kind === "timeout")
      return [
        {
          check: "zone",
          result: "fail",
          found: "no resolver answers",
          fix: "Correct POSTHORN_RESOLVERS or /etc/resolv.conf.",
        },
      ];
    if (servers.kind !== "found")
      return [{ check: "zone", result: "fail", found: `${zone} has no name servers (${servers.kind})`, fix }];
    const text = spf.kind === "found" ? spf.records.map(joinText).join(" ") : "";
    const addresses = inbound.kind === "found" ? inbound.records.map(({ address }) => address) : [];
    const missing = config.publicIps.filter(
      (ip) => !text.includes(ip) || (!ip.includes(":") && !addresses.includes(ip)),
    );
    if (missing.length > 0)
      return [
        {
          check: "zone",
          result: "fail",
          found: `${zone} is served, but without the addresses ${missing.join(", ")}`,
          fix: "Restart the node with the role dns with the same POSTHORN_PUBLIC_IPS, or load the zone file again.",
        },
      ];
    return [
      {
        check: "zone",
        result: "ok",
        found: `${zone} is delegated to ${servers.records.map(({ target }) => target).join(", ")}`,
      },
    ];
  });
}

/** Large receivers reject a sender whose address has no PTR record, or whose name does not resolve back to it. */
export async function ptrChecks(config: Config): Promise<Finding[]> {
  if (config.delivery === "capture") return notNeeded("PTR");
  if (config.delivery === "relay")
    return [{ check: "PTR", result: "ok", found: "not needed, the relay sends the mail" }];
  return await withResolver(config, async (resolver) => {
    return await Promise.all(config.publicIps.map((ip) => ptrCheck(resolver, ip, config.hostname)));
  });
}

async function ptrCheck(resolver: Resolver, ip: string, hostname: string): Promise<Finding> {
  const fix = `At the provider of the address, set its PTR record to ${hostname}; in DNS, point ${hostname} to ${ip}.`;
  const pointer = await resolver.lookup(reverseName(ip), "PTR");
  if (pointer.kind !== "found")
    return { check: "PTR", result: "fail", found: `${ip} has no PTR record (${pointer.kind})`, fix };
  const names = pointer.records.map(({ target }) => canonicalName(target));
  if (!names.includes(canonicalName(hostname)))
    return {
      check: "PTR",
      result: "fail",
      found: `the PTR record of ${ip} is ${names.join(", ")}, but HELO says ${hostname}`,
      fix,
    };
  const forward = await resolver.lookup(hostname, ip.includes(":") ? "AAAA" : "A");
  const back = forward.kind === "found" ? forward.records.map(({ address }) => ipaddr.parse(address).toString()) : [];
  if (!back.includes(ipaddr.parse(ip).toString()))
    return {
      check: "PTR",
      result: "fail",
      found: `${hostname} does not resolve to ${ip} (${back.join(", ") || forward.kind})`,
      fix,
    };
  return { check: "PTR", result: "ok", found: `${ip} and ${hostname} resolve to each other` };
}

const dayMs = 86_400_000;

export function certificateChecks({ tls, hostname, delivery }: Config, nowMs: number): Finding[] {
  if (!tls) {
    const found = "inbound mail uses a self-signed certificate";
    if (delivery === "capture") return [{ check: "TLS", result: "ok", found }];
    return [
      {
        check: "TLS",
        result: "warn",
        found,
        fix: "Set POSTHORN_TLS_CERT and POSTHORN_TLS_KEY: senders that enforce MTA-STS or DANE reject a self-signed one.",
      },
    ];
  }
  const certificate = new X509Certificate(readFileSync(tls.certFile));
  const days = Math.floor((Date.parse(certificate.validTo) - nowMs) / dayMs);
  const fix = "Renew it. Posthorn reads new files without a restart.";
  if (days < 0)
    return [{ check: "TLS", result: "fail", found: `the certificate expired on ${certificate.validTo}`, fix }];
  if (!certificate.checkHost(hostname))
    return [
      {
        check: "TLS",
        result: "warn",
        found: `the certificate is not valid for ${hostname}`,
        fix: `Request one for ${hostname} and the zone's inbound host.`,
      },
    ];
  return [
    {
      check: "TLS",
      result: days < 14 ? "warn" : "ok",
      found: `the certificate is valid for ${days} more days`,
      ...(days < 14 ? { fix } : {}),
    },
  ];
}

/** Many hosting providers block outbound port 25 until the customer asks. */
export async function outboundCheck(config: Config, probe: string): Promise<Finding[]> {
  if (config.delivery === "capture") return notNeeded("outbound");
  const relay = config.delivery === "relay" ? new URL(config.relayUrl!) : undefined;
  const fix = relay
    ? "Check POSTHORN_RELAY_URL and the firewall."
    : "Ask the provider to open outbound port 25, or set POSTHORN_DELIVERY=relay.";
  const at = relay
    ? { host: relay.hostname, port: Number(relay.port) || (relay.protocol === "smtps:" ? 465 : 25) }
    : await mailServerOf(config, probe);
  if (!at)
    return [
      {
        check: "outbound",
        result: "fail",
        found: `DNS has no mail server for ${probe}`,
        fix: "Check the resolver, or give another domain with --probe.",
      },
    ];
  try {
    const found = `${at.host}:${at.port} ${relay?.protocol === "smtps:" ? await acceptsConnections(at) : await greetingOf(at)}`;
    return [{ check: "outbound", result: "ok", found }];
  } catch (error) {
    return [
      {
        check: "outbound",
        result: "fail",
        found: `${at.host}:${at.port} does not answer: ${(error as Error).message}`,
        fix,
      },
    ];
  }
}

async function mailServerOf(config: Config, domain: string): Promise<Listen | undefined> {
  return await withResolver(config, async (resolver) => {
    const mx = await resolver.lookup(domain, "MX");
    if (mx.kind !== "found") return undefined;
    const best = mx.records.toSorted((a, b) => a.priority - b.priority)[0]!.exchange;
    const found = await resolver.lookup(best, "A");
    return found.kind === "found" ? { host: found.records[0]!.address, port: config.mxPort } : undefined;
  });
}

const answerMs = 10_000;

/** What an SMTP server answers on connect: its greeting, or the unexpected text. */
export function greetingOf(at: Listen): Promise<string> {
  return firstReply(connect(at));
}

/** The same on a port with TLS from the first octet. Its certificate may be for a name that does not lead here yet. */
export function tlsGreetingOf(at: Listen): Promise<string> {
  return firstReply(connectTls({ ...at, rejectUnauthorized: false }));
}

function acceptsConnections(at: Listen): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(at, () => {
      socket.destroy();
      resolve("accepts connections");
    });
    socket.setTimeout(answerMs, () => socket.destroy(new Error("timed out")));
    socket.once("error", reject);
  });
}

function firstReply(socket: Socket): Promise<string> {
  const describe = (text: string) =>
    /^220[ -]/.test(text) ? "answers" : `answers ${JSON.stringify(text.slice(0, 80))} instead of a greeting`;
  return new Promise((resolve, reject) => {
    socket.setTimeout(answerMs, () => socket.destroy(new Error("timed out")));
    socket.once("error", reject);
    socket.once("end", () => reject(new Error("the server closed the connection without a greeting")));
    socket.once("data", (chunk) => {
      resolve(describe(chunk.toString("latin1").trim()));
      socket.end("QUIT\r\n");
    });
  });
}
