/** The addresses of DNS servers: as configured, or the system's own. */
import { getServers } from "node:dns";
import { isIP } from "node:net";

export type ServerAddress = { host: string; port: number };

/** Names under a suffix are asked of these servers instead of the usual ones. */
export type Route = { suffix: string; servers: readonly ServerAddress[] };

/** Reads `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; undefined where it is none of them. */
export function parseServer(text: string, defaultPort = 53): ServerAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text.trim());
  const host = isIP(text.trim()) === 6 ? text.trim() : (match?.[1] ?? match?.[2] ?? "");
  const port = isIP(text.trim()) === 6 ? defaultPort : Number(match?.[3] ?? defaultPort);
  // An IPv6 zone index (fe80::1%eth0) is part of the address here: the operator's own machine says so.
  if (isIP(host) === 0 || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** What the system is set up with (/etc/resolv.conf); a resolver on this machine where it names none. */
export function systemServers(): ServerAddress[] {
  const servers = getServers()
    .map((text) => parseServer(text))
    .filter((server) => server !== undefined);
  return servers.length > 0 ? servers : [{ host: "127.0.0.1", port: 53 }];
}
