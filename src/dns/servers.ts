/** The addresses of DNS servers: from the configuration, or from the system. */
import { getServers } from "node:dns";
import { isIP } from "node:net";

export type ServerAddress = { host: string; port: number };

/** Names under `suffix` are looked up at `servers` instead of the default servers. */
export type Route = { suffix: string; servers: readonly ServerAddress[] };

/** Parses `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. Returns undefined for other text. */
export function parseServer(text: string, defaultPort = 53): ServerAddress | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text.trim());
  const host = isIP(text.trim()) === 6 ? text.trim() : (match?.[1] ?? match?.[2] ?? "");
  const port = isIP(text.trim()) === 6 ? defaultPort : Number(match?.[3] ?? defaultPort);
  // An IPv6 zone index (fe80::1%eth0) is allowed here: the address comes from the operator or the system.
  if (isIP(host) === 0 || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** The system's servers (/etc/resolv.conf), or a resolver on this machine if none is configured. */
export function systemServers(): ServerAddress[] {
  const servers = getServers()
    .map((text) => parseServer(text))
    .filter((server) => server !== undefined);
  return servers.length > 0 ? servers : [{ host: "127.0.0.1", port: 53 }];
}
