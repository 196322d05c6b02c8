/** Runs a real Postfix in its own directory: accepts mail on one port and forwards each domain as the test configures. Needs root. */
import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { needs } from "./foreign.ts";
import { freePort } from "./free-port.ts";
import { type Peer, runPeer, startPeer } from "./peer.ts";

export const withoutPostfix = needs("postfix") || (process.getuid?.() === 0 ? false : "Postfix starts as root only");

const daemons = "/usr/lib/postfix/sbin";

export type Routes = Record<string, number | "discard">;
export type Postfix = Peer & { port: number };

export type PostfixOptions = {
  hostname: string;
  /** For each domain the local port that its mail is forwarded to, or `discard` to accept and drop it. */
  routes: Routes;
  /** The loopback address and the port to listen on. */
  address?: string;
  port?: number;
  /** Additional settings for main.cf. */
  settings?: Record<string, string>;
};

export async function startPostfix(options: PostfixOptions): Promise<Postfix> {
  const { address = "127.0.0.1", port = await freePort() } = options;
  const peer = await startPeer({
    // Runs the master directly: `postfix start` would start a daemon that outlives a failed test.
    name: `${daemons}/master`,
    prefix: "posthorn-postfix-",
    args: async (directory) => {
      await writeConfiguration(directory, port, options);
      await runPeer("postfix", ["-c", directory, "check"]);
      return ["-c", directory, "-d"];
    },
    ready: () => greets(address, port),
  });
  return {
    ...peer,
    port,
    output: () => readFileSync(join(peer.directory, "log"), "utf8"),
  };
}

async function writeConfiguration(
  directory: string,
  port: number,
  { hostname, routes, address = "127.0.0.1", settings }: PostfixOptions,
): Promise<void> {
  // Postfix's own accounts need access to their subdirectories.
  await chmod(directory, 0o755);
  for (const name of ["queue", "data"]) await mkdir(join(directory, name), { mode: 0o755 });
  await runPeer("chown", ["postfix", join(directory, "data")]);
  const domains = Object.keys(routes);
  const nextHop = (route: Routes[string]) => (route === "discard" ? "discard:" : `smtp:[127.0.0.1]:${route}`);
  const transport = domains.map((domain) => `{ ${domain} = ${nextHop(routes[domain]!)} }`).join(", ");
  const main = {
    compatibility_level: "3.6",
    queue_directory: join(directory, "queue"),
    data_directory: join(directory, "data"),
    command_directory: "/usr/sbin",
    daemon_directory: daemons,
    mail_owner: "postfix",
    setgid_group: "postdrop",
    myhostname: hostname,
    mydestination: "",
    local_recipient_maps: "",
    alias_maps: "",
    relay_domains: domains.join(", "),
    relay_recipient_maps: "",
    mynetworks: "127.0.0.0/8",
    smtpd_relay_restrictions: "permit_mynetworks, reject",
    // Postfix refuses other loopback addresses here; master.cf names the address to listen on.
    inet_interfaces: "127.0.0.1",
    inet_protocols: "ipv4",
    disable_dns_lookups: "yes",
    smtp_tls_security_level: "may",
    transport_maps: `inline:{ ${transport} }`,
    // Not /dev/stdout: in a child of Node it is a socket, which cannot be opened by name.
    maillog_file: join(directory, "log"),
    maillog_file_prefixes: directory,
    ...settings,
  };
  const lines = Object.entries(main).map(([name, value]) => `${name} = ${value}`);
  await writeFile(join(directory, "main.cf"), `${lines.join("\n")}\n`);
  await writeFile(join(directory, "master.cf"), master(`${address}:${port}`));
}

function master(listening: string): string {
  return `
${listening} inet n - n - - smtpd
pickup  unix  n - n 60   1 pickup
cleanup unix  n - n -    0 cleanup
qmgr    unix  n - n 1    1 qmgr
rewrite unix  - - n -    - trivial-rewrite
bounce  unix  - - n -    0 bounce
defer   unix  - - n -    0 bounce
trace   unix  - - n -    0 bounce
verify  unix  - - n -    1 verify
proxymap unix - - n -    - proxymap
smtp    unix  - - n -    - smtp
relay   unix  - - n -    - smtp
error   unix  - - n -    - error
retry   unix  - - n -    - error
discard unix  - - n -    - discard
anvil   unix  - - n -    1 anvil
scache  unix  - - n -    1 scache
tlsmgr  unix  - - n 1000 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
`;
}

async function greets(address: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, address);
    socket.setTimeout(1000, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => resolve(false));
    socket.on("data", (chunk) => {
      resolve(chunk.toString().startsWith("220"));
      socket.end("QUIT\r\n");
    });
  });
}
