/** Runs a real rspamd that checks mail by DMARC, collects the results in Redis, and mails reports about them. Its reporting tool asks only the
 * system's resolver, so its DNS answers come from a table; all else is its own. */

import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { runPeer, startPeer } from "./peer.ts";

export type Rspamd = {
  /** Scans a message as if the client had delivered it. */
  scan(mail: { ip: string; from: string; message: string }): Promise<void>;
  /** Mails the reports about today to the SMTP server. */
  report(answers: Readonly<Record<string, string>>): Promise<string>;
  stop(): Promise<void>;
};

export type RspamdOptions = { dnsPort: number; smtpPort: number; domain: string };

export async function startRspamd(options: RspamdOptions): Promise<Rspamd> {
  const [port, redisPort] = [await freePort(), await freePort()];
  const redis = await startPeer({
    name: "redis-server",
    prefix: "posthorn-redis-",
    args: async (directory) => ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
    ready: () => listens(redisPort),
  });
  let folder = "";
  const peer = await startPeer({
    name: "rspamd",
    prefix: "posthorn-rspamd-",
    async args(directory) {
      folder = directory;
      await writeFile(join(directory, "tld.dat"), "test\n");
      await writeFile(join(directory, "empty.lua"), "return {}\n");
      await writeFile(join(directory, "rspamd.conf"), configuration(directory, { ...options, port, redisPort }));
      return ["-f", "-i", "-c", join(directory, "rspamd.conf")];
    },
    ready: () => listens(port),
  }).catch(async (error) => {
    await redis.stop();
    throw error;
  });
  return {
    async scan({ ip, from, message }) {
      const headers = { IP: ip, From: from, Rcpt: "someone@there.test", Helo: "mx.test" };
      const response = await fetch(`http://127.0.0.1:${port}/checkv2`, { method: "POST", headers, body: message });
      if (!response.ok) throw new Error(`rspamd: ${response.status} ${await response.text()}`);
      await response.text();
    },
    async report(answers) {
      const env = join(folder, "answers.lua");
      await writeFile(env, answering(answers));
      const today = new Date().toISOString().slice(0, 10).replaceAll("-", "");
      const args = [`--lua-env=${env}`, "dmarc_report", "-c", join(folder, "rspamd.conf"), "-v", today];
      return await runPeer("rspamadm", args);
    },
    async stop() {
      await peer.stop();
      await redis.stop();
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

function answering(answers: Readonly<Record<string, string>>): string {
  const rows = Object.entries(answers).map(([name, text]) => `  ["${name}"] = { "${text}" },`);
  return `local answers = {\n${rows.join("\n")}\n}
local rspamd_dns = require "rspamd_dns"
rspamd_dns.request = function(query)
  local found = answers[query.name]
  if found then return true, found end
  return false, "no records with this name"
end
return {}
`;
}

function configuration(folder: string, options: RspamdOptions & { port: number; redisPort: number }): string {
  const { dnsPort, smtpPort, domain, port, redisPort } = options;
  return `options {
  pidfile = "${folder}/rspamd.pid";
  tempdir = "${folder}";
  hs_cache_dir = "${folder}";
  url_tld = "${folder}/tld.dat";
  control_socket = "${folder}/rspamd.sock mode=0600";
  filters = "dkim";
  # DMARC is not checked for local clients.
  local_addrs = "192.168.255.1";
  dns { nameserver = ["127.0.0.1:${dnsPort}:1"]; timeout = 1s; retransmits = 5; }
}
logging { type = "console"; level = "warning"; }
lua = "${folder}/empty.lua";
modules { path = "/usr/share/rspamd/plugins/dmarc.lua"; path = "/usr/share/rspamd/plugins/spf.lua"; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
redis { servers = "127.0.0.1:${redisPort}"; }
spf { }
dkim { }
dmarc {
  reporting {
    enabled = true;
    email = "dmarc@${domain}";
    domain = "${domain}";
    org_name = "Rspamd of the test";
    smtp = "127.0.0.1";
    smtp_port = ${smtpPort};
    helo = "mx.${domain}";
  }
}
actions { reject = 100; }
`;
}
