/** Runs a real BIND as a customer's DNS provider. Tests add and remove single records with nsupdate. */
import { Resolver } from "node:dns/promises";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { runPeer, startPeer } from "./peer.ts";
import { until } from "./wait.ts";

export type BindRecord = { name: string; type: string; value: string; priority?: number };

export type Bind = {
  host: string;
  port: number;
  add(...records: BindRecord[]): Promise<void>;
  /** Removes all records of a type at a name. */
  remove(...records: { name: string; type: string }[]): Promise<void>;
  /** The DNSKEY record of a signed zone, as a trust anchor for Unbound. */
  trustAnchor(zone: string): Promise<string>;
  stop(): Promise<void>;
};

/** `negativeTtl` is the SOA minimum in seconds: how long resolvers may cache a negative answer. BIND signs the zones in `signed`. */
export async function startBind(options: {
  zones: readonly string[];
  signed?: readonly string[];
  negativeTtl?: number;
  port?: number;
}): Promise<Bind> {
  const { zones, signed = [], negativeTtl = 300, port = await freePort() } = options;
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const peer = await startPeer({
    name: "named",
    prefix: "posthorn-bind-",
    async args(directory) {
      for (const zone of zones) await writeFile(join(directory, zone), emptyZone(zone, negativeTtl));
      const file = join(directory, "named.conf");
      await writeFile(file, configuration({ directory, port, zones, signed }));
      return ["-g", "-n", "1", "-c", file];
    },
    ready: async () => (await resolver.resolveSoa(zones[0]!)).minttl === negativeTtl,
  });
  const update = async (lines: string[]) => {
    // One message per zone: DNS updates do not cross zones.
    for (const zone of zones) {
      const own = lines.filter((line) => line.split(" ")[2]?.endsWith(`${zone}.`));
      if (own.length === 0) continue;
      await runPeer("nsupdate", [], [`server 127.0.0.1 ${port}`, `zone ${zone}`, ...own, "send", ""].join("\n"));
    }
  };
  return {
    host: "127.0.0.1",
    port,
    add: (...records) =>
      update(records.map((record) => `update add ${record.name}. 300 ${record.type} ${dataOf(record)}`)),
    remove: (...records) => update(records.map((record) => `update delete ${record.name}. ${record.type}`)),
    async trustAnchor(zone) {
      // BIND creates the key shortly after the start.
      return await until(`the key of ${zone}`, async () => {
        const key = await runPeer("dig", ["+short", "-p", String(port), "@127.0.0.1", zone, "DNSKEY"]);
        return key.startsWith("257 ") ? `${zone}. DNSKEY ${key.trim()}` : undefined;
      });
    },
    stop: peer.stop,
  };
}

function dataOf({ type, value, priority }: BindRecord): string {
  if (type === "TXT")
    return (value.match(/.{1,255}/g) ?? [""]).map((part) => `"${part.replaceAll('"', '\\"')}"`).join(" ");
  if (type === "A" || type === "TLSA") return value;
  return type === "MX" ? `${priority ?? 10} ${value}.` : `${value}.`;
}

function emptyZone(zone: string, negativeTtl: number): string {
  return [
    `$ORIGIN ${zone}.`,
    `@ 300 IN SOA ns1 hostmaster 1 3600 600 1209600 ${negativeTtl}`,
    "@ 300 IN NS ns1",
    "ns1 300 IN A 127.0.0.1",
    "",
  ].join("\n");
}

function configuration(options: {
  directory: string;
  port: number;
  zones: readonly string[];
  signed: readonly string[];
}): string {
  const { directory, port, zones, signed } = options;
  const policyOf = (zone: string) =>
    signed.includes(zone) ? ` dnssec-policy default; key-directory "${directory}";` : "";
  return `options {
  directory "${directory}";
  listen-on port ${port} { 127.0.0.1; };
  listen-on-v6 { none; };
  pid-file none;
  session-keyfile none;
  recursion no;
  notify no;
  dnssec-validation no;
};
controls { };
${zones.map((zone) => `zone "${zone}" { type primary; file "${zone}"; allow-update { 127.0.0.1; };${policyOf(zone)} };`).join("\n")}
`;
}
