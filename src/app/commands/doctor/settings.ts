/** The check of settings in posthorn doctor: each is valid on its own, but together they do not work as intended. */
import { isPublicAddress } from "../../../dns/address-guard.ts";
import { isReserved } from "../../../domains/publish.ts";
import type { Config } from "../../config.ts";
import { version } from "../../help.ts";
import type { Finding } from "./finding.ts";

export function settingsChecks(config: Config): Finding[] {
  const problems = [...deliveryProblems(config), ...apiProblems(config)];
  const summary = `Posthorn ${version} on Node ${process.versions.node}, delivery ${config.delivery}, data in ${config.dataDir}`;
  return [{ check: "settings", result: "ok", found: summary }, ...problems];
}

function deliveryProblems(config: Config): Finding[] {
  if (config.delivery === "capture")
    return [
      {
        check: "settings",
        result: "warn",
        found: "capture mode: no mail leaves this machine",
        fix: "To deliver mail, set POSTHORN_DELIVERY to direct or relay.",
      },
    ];
  const found: Finding[] = [];
  const fail = (what: string, fix: string) => found.push({ check: "settings", result: "fail", found: what, fix });
  if (isReserved(config.zone))
    fail(
      `the zone ${config.zone} is a reserved name that public DNS cannot resolve`,
      "Set POSTHORN_ZONE to a name that you own, such as mail.example.com.",
    );
  if (isReserved(config.hostname))
    fail(
      `receivers reject mail from ${config.hostname}, a reserved name`,
      "Set POSTHORN_HOSTNAME to this machine's name in DNS.",
    );
  if (config.publicIps.length === 0)
    fail(
      "no public address is set, so SPF authorizes no sender",
      "Set POSTHORN_PUBLIC_IPS to the addresses that mail is sent from.",
    );
  for (const ip of config.publicIps.filter((ip) => !isPublicAddress(ip)))
    fail(
      `${ip} in POSTHORN_PUBLIC_IPS is not a public address`,
      "Use the address that receivers see, not the one behind a router.",
    );
  return found;
}

function apiProblems(config: Config): Finding[] {
  const found: Finding[] = [];
  const warn = (what: string, fix: string) => found.push({ check: "settings", result: "warn", found: what, fix });
  if (!config.onLoopback && !config.publicUrl?.startsWith("https:"))
    warn(
      "the API listens outside loopback without TLS: keys are sent unencrypted",
      "Put a TLS proxy in front of it and set POSTHORN_PUBLIC_URL=https://…",
    );
  if (config.publicUrl?.startsWith("https:") && config.trustedProxies.length === 0)
    warn(
      "no proxy is trusted: every call appears to come from the proxy itself",
      "Set POSTHORN_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1/32.",
    );
  if (config.databaseUrl !== undefined && config.secret === undefined)
    warn(
      "POSTHORN_SECRET is not set: each node generates its own, so a second node will refuse to start",
      "Set the same POSTHORN_SECRET on every node.",
    );
  return found;
}
