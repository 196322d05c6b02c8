/** Runs real spam filters with their own rules only, without network: rspamd and SpamAssassin's spamd. */
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type Peer, startPeer } from "./peer.ts";

/** Makes every filter call a message spam. */
export const gtube = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X";

export type SpamFilter = Peer & { setting: string };

export async function startRspamd(): Promise<SpamFilter> {
  const port = await freePort();
  const peer = await startPeer({
    name: "rspamd",
    prefix: "posthorn-rspamd-",
    async args(directory) {
      const file = join(directory, "rspamd.conf");
      await writeFile(join(directory, "tld"), "com\ntest\nexample\n");
      await writeFile(file, rspamdConfig(directory, port));
      // Without -i it refuses to run as root, as tests in containers do.
      return ["-f", "-i", "-c", file];
    },
    ready: async () => (await fetch(`http://127.0.0.1:${port}/ping`)).ok,
  });
  return { ...peer, setting: `rspamd:http://127.0.0.1:${port}` };
}

/** The list of suffixes is short, because compiling the full one takes 20 seconds. */
function rspamdConfig(directory: string, port: number): string {
  return `options {
  pidfile = "${directory}/pid";
  filters = "regexp";
  url_tld = "${directory}/tld";
  temp_dir = "${directory}";
  disable_hyperscan = true;
  gtube_patterns = "all";
  dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }
}
logging { type = "console"; level = "warning"; }
lua = "/usr/share/rspamd/rules/rspamd.lua";
actions { reject = 15; "add header" = 6; greylist = 4; }
.include "/etc/rspamd/groups.conf"
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
`;
}

export async function startSpamd(): Promise<SpamFilter> {
  const port = await freePort();
  const peer = await startPeer({
    name: "spamd",
    prefix: "posthorn-spamd-",
    async args(directory) {
      const account = process.getuid?.() === 0 ? ["--username=nobody"] : [];
      const children = ["--min-children=1", "--max-children=1"];
      const place = [`--listen=127.0.0.1:${port}`, "-r", join(directory, "pid"), "-H", directory, "-s", "stderr"];
      // -L: local rules only. -x: no files of users.
      return ["-L", "-x", "-4", ...children, ...place, ...account];
    },
    ready: () => answersPing(port),
  });
  return { ...peer, setting: `spamd:127.0.0.1:${port}` };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port }, () => socket.end("PING SPAMC/1.5\r\n\r\n"));
    socket.once("data", (answer) => resolve(answer.toString().includes("PONG")));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
  });
}
