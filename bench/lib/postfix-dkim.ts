/** The comparison for delivering: Postfix and OpenDKIM with their defaults sign the same emails with RSA-2048 and deliver them to the
 * same sink. */
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { parseAddress } from "../../src/mail/address.ts";
import { compose } from "../../src/mail/compose.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { needs } from "../../test/harness/foreign.ts";
import { freePort } from "../../test/harness/free-port.ts";
import { type Peer, startPeer } from "../../test/harness/peer.ts";
import { startPostfix, withoutPostfix } from "../../test/harness/postfix.ts";
import { startSink } from "../../test/harness/sink.ts";
import { senderDomain } from "../../test/harness/testbed.ts";
import { until } from "../../test/harness/wait.ts";
import { type Environment, sampleEmail } from "./environment.ts";
import { quick } from "./scale.ts";
import { measured, type Shares } from "./shares.ts";
import { runSmtpLoad } from "./smtp-load.ts";

const messages = quick ? 500 : 1000;
/** Why there is no comparison, if a program is missing. */
export const withoutPostfixDkim = withoutPostfix || needs("opendkim");

/** `measure`: messages per second, from the first submission until the sink has the last one. */
export type PostfixWithDkim = {
  measure(): Promise<{ perSecond: number; shares: Shares | undefined }>;
  stop(): Promise<void>;
};

export async function startPostfixWithDkim(environment: Environment): Promise<PostfixWithDkim> {
  const port = await freePort();
  const signer = await startOpenDkim(port);
  const probe = await startSink();
  const postfix = await startPostfix({
    hostname: `mx.${senderDomain}`,
    routes: { "probe.test": probe.port, "there.test": environment.sinkPort },
    settings: { smtpd_milters: `inet:127.0.0.1:${port}`, milter_default_action: "tempfail" },
  });
  const load = { port: postfix.port, from: `shop@${senderDomain}`, message: () => message(), connections: 20 };
  await runSmtpLoad({ ...load, to: "user@probe.test", count: 1, connections: 1 });
  await probe.until((sink) => sink.accepted === 1);
  // Without signatures the comparison would be meaningless.
  if (!/^DKIM-Signature: .*a=rsa-sha256/ms.test(probe.deliveries[0]!.data.toString("latin1")))
    throw new Error(`OpenDKIM did not sign: ${signer.output()}`);
  await probe.close();
  const send = async (count: number) => {
    const before = await environment.received();
    const began = performance.now();
    await runSmtpLoad({ ...load, to: "user@there.test", count });
    const all = async () => (await environment.received()) >= before + count;
    await until("Postfix to deliver them", all, { withinMs: 60_000, everyMs: 20 });
    return count / ((performance.now() - began) / 1000);
  };
  await send(200);
  return {
    async measure() {
      const { result, shares } = await measured({}, async () => await send(messages));
      return { perSecond: result, shares };
    },
    async stop() {
      await postfix.stop();
      await signer.stop();
    },
  };
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
        Domain: senderDomain,
        Selector: "ph1",
        KeyFile: key,
        RequireSafeKeys: "no",
        Mode: "s",
        Canonicalization: "relaxed/relaxed",
        SignatureAlgorithm: "rsa-sha256",
        InternalHosts: "127.0.0.1",
        Socket: `inet:${port}@127.0.0.1`,
        PidFile: join(directory, "pid"),
        Syslog: "no",
      };
      const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
      await writeFile(join(directory, "opendkim.conf"), `${lines.join("\n")}\n`);
      return ["-f", "-x", join(directory, "opendkim.conf")];
    },
    ready: () => listens(port),
  });
}

/** Composed by our own code, so that both programs sign and transfer the same bytes. */
function message(): string {
  const uuid = makeUuid(Date.now());
  const email = {
    id: `em_${uuid}`,
    messageId: `<${uuid}@${senderDomain}>`,
    date: new Date(),
    from: address(sampleEmail.from),
    to: [address("user@there.test")],
    subject: sampleEmail.subject,
    text: sampleEmail.body,
    html: sampleEmail.html,
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
