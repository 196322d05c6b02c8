/** The peer of delivering: Postfix with OpenDKIM, both with their own defaults, signs the same letters with RSA-2048 and brings them to the same sink. */
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { parseAddress } from "../../src/mail/address.ts";
import { compose } from "../../src/mail/compose.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { needs } from "../../test/harness/foreign.ts";
import { freePort } from "../../test/harness/free-port.ts";
import { type Peer, startPeer } from "../../test/harness/peer.ts";
import { startPostfix, withoutPostfix } from "../../test/harness/postfix.ts";
import { startSink } from "../../test/harness/sink.ts";
import { until } from "../../test/harness/wait.ts";
import { senderDomain } from "../../test/harness/world.ts";
import type { Say } from "./report.ts";
import { runSmtpLoad } from "./smtp-load.ts";
import { letter, type Stage } from "./stage.ts";

const messages = 1500;
const without = withoutPostfix || needs("opendkim");

/** Messages per second from the first that is brought to the last that the sink has; undefined where a program is missing. */
export async function postfixWithDkim(stage: Stage, say: Say): Promise<number | undefined> {
  if (without) {
    say(`no peer: ${without}`);
    return undefined;
  }
  say(`the same letters by Postfix and OpenDKIM, ${messages} of them …`);
  const port = await freePort();
  const signer = await startOpenDkim(port);
  const probe = await startSink();
  const postfix = await startPostfix({
    hostname: `mx.${senderDomain}`,
    routes: { "probe.test": probe.port, "there.test": stage.sinkPort },
    settings: { smtpd_milters: `inet:127.0.0.1:${port}`, milter_default_action: "tempfail" },
  });
  try {
    const load = { port: postfix.port, from: `shop@${senderDomain}`, message: () => message(), connections: 20 };
    await runSmtpLoad({ ...load, to: "user@probe.test", count: 1, connections: 1 });
    await probe.until((sink) => sink.accepted === 1);
    // A peer that does not sign would be no measure.
    if (!/^DKIM-Signature: .*a=rsa-sha256/ms.test(probe.deliveries[0]!.data.toString("latin1")))
      throw new Error(`OpenDKIM did not sign: ${signer.output()}`);
    const bring = async (count: number) => {
      const before = await stage.taken();
      const began = performance.now();
      await runSmtpLoad({ ...load, to: "user@there.test", count });
      const all = async () => (await stage.taken()) >= before + count;
      await until("Postfix to deliver them", all, { withinMs: 60_000, everyMs: 20 });
      return count / ((performance.now() - began) / 1000);
    };
    await bring(200);
    return await bring(messages);
  } finally {
    await postfix.stop();
    await signer.stop();
    await probe.close();
  }
}

async function startOpenDkim(port: number): Promise<Peer> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return await startPeer({
    name: "opendkim",
    prefix: "posthorn-opendkim-",
    args: async (directory) => {
      const key = join(directory, "key.pem");
      await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
      const settings = {
        ...{ Domain: senderDomain, Selector: "ph1", KeyFile: key, RequireSafeKeys: "no", Mode: "s" },
        ...{ Canonicalization: "relaxed/relaxed", SignatureAlgorithm: "rsa-sha256", InternalHosts: "127.0.0.1" },
        ...{ Socket: `inet:${port}@127.0.0.1`, PidFile: join(directory, "pid"), Syslog: "no" },
      };
      const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
      await writeFile(join(directory, "opendkim.conf"), `${lines.join("\n")}\n`);
      return ["-f", "-x", join(directory, "opendkim.conf")];
    },
    ready: () => listens(port),
  });
}

/** Composed as the program composes it, so that both sign and carry the same bytes. */
function message(): string {
  const uuid = makeUuid(Date.now());
  const email = {
    ...{ id: `em_${uuid}`, messageId: `<${uuid}@${senderDomain}>`, date: new Date() },
    ...{ from: address(letter.from), to: [address("user@there.test")] },
    ...{ subject: letter.subject, text: letter.body, html: letter.html },
  };
  return compose(email).toString("latin1").replace(/\r\n$/, "");
}

function address(text: string) {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.address;
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
