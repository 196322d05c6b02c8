/** Runs a real Unbound as the recursive resolver: it queries the given servers for their zones and caches the answers. */
import { Resolver } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { runPeer, startPeer } from "./peer.ts";

export type Unbound = {
  host: string;
  port: number;
  /** Removes a zone from the cache, as if its answers had expired. */
  flush(zone: string): Promise<void>;
  stop(): Promise<void>;
};

export async function startUnbound(options: {
  zones: Readonly<Record<string, number>>;
  /** DNSKEY records of signed zones. With them Unbound validates; names outside these zones are insecure. */
  trustAnchors?: readonly string[];
}): Promise<Unbound> {
  const port = await freePort();
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  let file = "";
  const peer = await startPeer({
    name: "unbound",
    prefix: "posthorn-unbound-",
    async args(directory) {
      file = join(directory, "unbound.conf");
      await writeFile(file, configuration(directory, port, options));
      return ["-d", "-c", file];
    },
    // Unbound answers this name itself; the zones' servers may not be running yet.
    ready: async () => (await resolver.resolve4("localhost")).includes("127.0.0.1"),
  });
  return {
    host: "127.0.0.1",
    port,
    flush: async (zone) => void (await runPeer("unbound-control", ["-c", file, "flush_zone", zone])),
    stop: peer.stop,
  };
}

function configuration(
  directory: string,
  port: number,
  { zones, trustAnchors = [] }: Parameters<typeof startUnbound>[0],
): string {
  const stubs = Object.entries(zones).map(
    ([zone, at]) => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${at}\n  stub-no-cache: no\n`,
  );
  return `server:
  directory: "${directory}"
  chroot: ""
  username: ""
  pidfile: "${directory}/unbound.pid"
  interface: 127.0.0.1@${port}
  access-control: 127.0.0.0/8 allow
  do-ip6: no
  do-daemonize: no
  use-syslog: no
  logfile: ""
  num-threads: 1
  module-config: "${trustAnchors.length > 0 ? "validator iterator" : "iterator"}"
${trustAnchors.map((anchor) => `  trust-anchor: "${anchor}"\n`).join("")}  do-not-query-localhost: no
  local-zone: "test." nodefault
  infra-host-ttl: 1
${stubs.join("")}remote-control:
  control-enable: yes
  control-interface: "${directory}/control"
  control-use-cert: no
`;
}
