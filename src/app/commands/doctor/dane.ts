/** The checks of posthorn doctor that concern DANE: whether each resolver in POSTHORN_DANE_RESOLVER validates DNSSEC. */
import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import type { Lookup } from "../../../dns/record.ts";
import { createResolver } from "../../../dns/resolver.ts";
import type { Config } from "../../config.ts";
import type { Listen } from "../../config-shapes.ts";
import type { Finding } from "./finding.ts";

/** `signed`: a name that validation must find secure. `bogus`: one whose signatures are invalid. */
export type ProofNames = { signed: string; bogus: string };

export async function daneChecks(config: Config, names: ProofNames): Promise<Finding[]> {
  if (config.delivery !== "direct")
    return [{ check: "DANE", result: "ok", found: `not needed in ${config.delivery} mode` }];
  const { daneResolvers } = config;
  if (daneResolvers === undefined) {
    const found =
      "off; to turn it on, run a validating resolver on this machine and set POSTHORN_DANE_RESOLVER=127.0.0.1:53";
    return [{ check: "DANE", result: "ok", found }];
  }
  return await Promise.all(daneResolvers.map((server) => resolverCheck(server, names)));
}

async function resolverCheck(server: Listen, names: ProofNames): Promise<Finding> {
  // A resolver tries all servers of a zone before it refuses an invalid signature.
  const patience = { queryTimeoutMs: 4_000, totalTimeoutMs: 8_000 };
  const resolver = createResolver({ servers: [server], validated: true, ...patience });
  try {
    const [signed, bogus, address] = await Promise.all([
      resolver.lookup(names.signed, "SOA"),
      resolver.lookup(names.bogus, "A"),
      addressOf(server.host),
    ]);
    return judgeResolver(server, names, { signed, bogus, address });
  } finally {
    resolver.stop();
  }
}

const everyServer = "Every server in POSTHORN_DANE_RESOLVER must validate: see docs/delivery.md, DANE.";

/** What the two answers prove about a resolver. Exported for tests. */
export function judgeResolver(
  server: Listen,
  names: ProofNames,
  { signed, bogus, address = server.host }: { signed: Lookup; bogus: Lookup; address?: string },
): Finding {
  const at = `${server.host}:${server.port}`;
  const fail = (found: string, fix: string): Finding => ({
    check: "DANE",
    result: "fail",
    found: `${at} ${found}`,
    fix,
  });
  if (signed.kind === "timeout" || (signed.kind === "servfail" && signed.reason === "unreachable"))
    return fail("does not answer: mail for new destinations is delayed", "Start the resolver, or add a second one.");
  if (signed.kind === "servfail" && signed.reason === "no-edns")
    return fail("does not support EDNS with the DO flag, which DNSSEC needs: mail is delayed", everyServer);
  const retry = `If it cannot resolve ${shown(names.signed)}, give another signed name with --dnssec-signed.`;
  if (signed.kind === "servfail") return fail(`does not resolve ${shown(names.signed)} (${signed.reason})`, retry);
  if (!signed.secure)
    return fail(`does not validate: it answers ${shown(names.signed)} without the AD flag`, everyServer);
  if (bogus.kind === "found")
    return fail(`accepts ${names.bogus}, whose signatures are invalid; it does not validate`, everyServer);
  const proven = bogus.kind === "servfail" && bogus.reason === "servfail";
  const found = `${at} validates: ${shown(names.signed)} is secure, ${names.bogus} is refused`;
  const warn = (text: string, fix: string): Finding => ({ check: "DANE", result: "warn", found: text, fix });
  if (!proven)
    return warn(
      `${at} says that ${shown(names.signed)} is secure, but ${names.bogus} could not be tested (${bogus.kind})`,
      `Run doctor again. If it cannot resolve ${names.bogus}, give another name with invalid signatures with --dnssec-bogus.`,
    );
  if (isOwnNetwork(address)) return { check: "DANE", result: "ok", found };
  const fix = "Use a resolver on this machine or in your own network: answers on the way can be forged.";
  return warn(`${found}; it is at a public address`, fix);
}

function shown(name: string): string {
  return name === "." ? "the root zone" : name;
}

/** The setting may name a host, for example a container. */
async function addressOf(host: string): Promise<string> {
  const found = await lookup(host, { family: ipaddr.IPv6.isValid(host) ? 6 : 4 }).catch(() => undefined);
  return found?.address ?? host;
}

function isOwnNetwork(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() !== "unicast";
}
