/** Settings that are each valid and together would not do what their operator wants. Part of posthorn doctor. */
import { isReserved } from "../../dns/local-zones.ts";
import { isPublicAddress } from "../../rules/address-guard.ts";
import type { Config } from "../config.ts";
import { version } from "../version.ts";
import type { Finding } from "./doctor.ts";

export function settingsChecks(config: Config): Finding[] {
  const wrong = [...forDelivery(config), ...forTheApi(config)];
  const about = `Posthorn ${version} on Node ${process.versions.node}, delivery ${config.delivery}, data in ${config.dataDir}`;
  return [{ check: "settings", result: "ok", found: about }, ...wrong];
}

function forDelivery(config: Config): Finding[] {
  if (config.delivery === "capture")
    return [
      {
        check: "settings",
        result: "warn",
        found: "mail is captured: nothing leaves this machine",
        fix: "To send for real, set POSTHORN_DELIVERY to direct or relay.",
      },
    ];
  const found: Finding[] = [];
  const fail = (what: string, fix: string) => found.push({ check: "settings", result: "fail", found: what, fix });
  if (isReserved(config.zone))
    fail(
      `the zone ${config.zone} is a name for tests that nobody outside can look up`,
      "Set POSTHORN_ZONE to a name of your own, such as mail.example.com.",
    );
  if (isReserved(config.hostname))
    fail(
      `receivers refuse mail from ${config.hostname}, a name for tests`,
      "Set POSTHORN_HOSTNAME to this machine's name in DNS.",
    );
  if (config.publicIps.length === 0)
    fail(
      "no public address is set: SPF authorises nobody",
      "Set POSTHORN_PUBLIC_IPS to the addresses that mail leaves from.",
    );
  for (const ip of config.publicIps.filter((ip) => !isPublicAddress(ip)))
    fail(
      `${ip} in POSTHORN_PUBLIC_IPS is not an address of the internet`,
      "Name the address that others see, not the one behind a router.",
    );
  return found;
}

function forTheApi(config: Config): Finding[] {
  const found: Finding[] = [];
  const warn = (what: string, fix: string) => found.push({ check: "settings", result: "warn", found: what, fix });
  if (!config.onLoopback && !config.publicUrl?.startsWith("https:"))
    warn(
      "the API listens for others without TLS: keys travel in the open",
      "Put a TLS proxy before it and set POSTHORN_PUBLIC_URL=https://…",
    );
  if (config.publicUrl?.startsWith("https:") && config.trustedProxies.length === 0)
    warn(
      "no proxy is trusted: every caller seems to come from the proxy itself",
      "Set POSTHORN_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1/32.",
    );
  if (config.databaseUrl !== undefined && config.secret === undefined)
    warn(
      "each node makes a secret of its own, and a second node will refuse to start",
      "Set the same POSTHORN_SECRET on every node.",
    );
  return found;
}
