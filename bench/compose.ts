/**
 * The cost of composing and signing, and of the alternatives: npx node bench/compose.ts.
 * Source of the numbers in docs/decisions/0004-composing.md.
 */
import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { promisify } from "node:util";
import { dkimSign } from "mailauth/lib/dkim/sign.js";
import MailComposer from "nodemailer/lib/mail-composer";
import { createComposer } from "../src/delivery/compose/pool.ts";
import { type Address, parseAddress } from "../src/mail/address.ts";
import { compose, type OutgoingEmail } from "../src/mail/compose.ts";
import { digestMessage, dkimSigningInput } from "../src/mail/dkim.ts";
import { base64LinesSize, canonicalBase64, writeBase64Lines } from "../src/mail/mime/base64.ts";
import { makeRsaKey } from "../src/mail/rsa-key.ts";

const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const privateKeyPem = key.export({ type: "pkcs8", format: "pem" }).toString();
const signer = { domain: "example.test", selector: "ph1", privateKeyPem };
const identity = { domain: "example.test", selector: "ph1", signedAt: new Date(0) };
const signAsync = promisify(sign) as (algorithm: string, data: Uint8Array, keyObject: typeof key) => Promise<Buffer>;

const email: OutgoingEmail = {
  id: "em_01932c5e-7b1a-7abc-8def-0123456789ab",
  messageId: "<01932c5e-7b1a-7abc-8def-0123456789ab@example.test>",
  date: new Date(0),
  from: address("Ann Example <ann@example.test>"),
  to: [address("Bob Example <bob@example.test>")],
  subject: "Ihre Bestellung für März",
  text: "Hello Jörg, your order has shipped. ".repeat(28).slice(0, 1000),
  html: '<p style="color: #333">Hello Jörg, your order has shipped and will arrive soon.</p>\n'
    .repeat(24)
    .slice(0, 2000),
};

await small();
await signing();
await hop();
await lines();
await large();

async function small(): Promise<void> {
  console.log("\n3 kB text and html, composed on one thread");
  await rate("  ours", 5000, async () => void compose(email));
  await rate("  nodemailer MailComposer", 2000, () => withNodemailer());
  const message = compose(email);
  await rate(
    "  our DKIM hashes and signing input",
    5000,
    async () => void dkimSigningInput(digestMessage(message), identity),
  );
}

async function signing(): Promise<void> {
  console.log("\nRSA-2048 signatures of that message");
  const message = compose(email);
  const { input } = dkimSigningInput(digestMessage(message), identity);
  await rate("  crypto.sign, KeyObject, one core", 400, async () => void sign("sha256", input, key));
  const ours = await makeRsaKey(3);
  await rate("  the same with three primes, as in our keys", 400, async () => void sign("sha256", input, ours));
  await rate(
    "  crypto.sign, PEM parsed each time",
    400,
    async () => void sign("sha256", input, createPrivateKey(privateKeyPem)),
  );
  await rate("  async crypto.sign, 8 at once", 1200, () => signAsync("sha256", input, key), 8);
  await rate("  mailauth dkimSign, 8 at once", 400, () => withMailauth(message), 8);
  const composer = createComposer();
  await rate("  composer: compose and sign, 8 at once", 1200, () => composer.compose({ email, signer }), 8);
  await composer.stop();
}

async function hop(): Promise<void> {
  console.log("\nUnsigned, one at a time: inline compared with a worker thread");
  const inline = createComposer({ inlineLimitBytes: Number.POSITIVE_INFINITY });
  const worker = createComposer({ inlineLimitBytes: -1 });
  for (const kib of [3, 16, 64, 256, 1024]) {
    const sized = { ...email, html: email.html!.repeat(Math.ceil((kib * 1024) / 2000)).slice(0, kib * 1024) };
    const rounds = Math.max(50, Math.floor(3000 / kib));
    await rate(`  ${kib} KiB html inline`, rounds, () => inline.compose({ email: sized }));
    await rate(`  ${kib} KiB html in the worker`, rounds, () => worker.compose({ email: sized }));
  }
  await worker.stop();
  await inline.stop();
}

async function lines(): Promise<void> {
  console.log("\n40 MiB of base64 cut into lines of 76");
  const bytes = randomBytes(30 * 1024 * 1024);
  const base64 = bytes.toString("base64");
  const target = Buffer.alloc(base64LinesSize(base64.length));
  await rate("  encoded at once, then spread (ours)", 8, async () => void writeBase64Lines(base64, target, 0));
  const source = Buffer.from(base64);
  await rate("  copied line by line", 8, async () => {
    let at = 0;
    for (let from = 0; from < source.length; from += 76) {
      at += source.copy(target, at, from, from + 76);
      target[at++] = 0x0d;
      target[at++] = 0x0a;
    }
  });
  await rate("  decoded, then encoded line by line", 8, async () => {
    const decoded = Buffer.from(base64, "base64");
    let at = 0;
    for (let from = 0; from < decoded.length; from += 57) {
      at += target.write(decoded.toString("base64", from, from + 57), at, "latin1");
      target[at++] = 0x0d;
      target[at++] = 0x0a;
    }
  });
  await rate("  checked by the native decoder (ours)", 8, async () => void canonicalBase64(base64));
  await rate("  checked by a regular expression", 8, async () => void /^[A-Za-z0-9+/]*={0,2}$/.test(base64));
}

async function large(): Promise<void> {
  console.log("\nA 30 MiB attachment (40 MiB of base64), signed");
  const bytes = randomBytes(30 * 1024 * 1024);
  const base64 = bytes.toString("base64");
  const file = { filename: "film.bin", contentType: "application/octet-stream" };
  await once("  checking the base64", async () => void canonicalBase64(base64));
  const withText = { ...email, attachments: [{ ...file, base64 }] };
  await once("  composing inline (blocks)", async () => void compose(withText));
  const composer = createComposer({ threads: 1 });
  await composer.compose({ email: withText, signer });
  await once("  composer, content as text", () => composer.compose({ email: withText, signer }));
  const octets = Uint8Array.from(Buffer.from(base64, "latin1"));
  await once("  composer, content as transferred bytes", () =>
    composer.compose({ email: { ...email, attachments: [{ ...file, base64: octets }] }, signer }),
  );
  await composer.stop();
}

function withNodemailer(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { text, html, subject, messageId, date } = email;
    const mail = {
      from: "Ann Example <ann@example.test>",
      to: "Bob Example <bob@example.test>",
      text,
      html,
      subject,
      messageId,
      date,
    };
    new MailComposer(mail).compile().build((error, message) => (error ? reject(error) : resolve(message)));
  });
}

async function withMailauth(message: Buffer): Promise<void> {
  const signature = { signingDomain: "example.test", selector: "ph1", privateKey: privateKeyPem };
  const { errors } = await dkimSign(message, {
    ...signature,
    canonicalization: "relaxed/relaxed",
    signatureData: [signature],
  });
  if (errors.length > 0) throw errors[0]!.err;
}

async function rate(label: string, rounds: number, work: () => Promise<unknown>, atOnce = 1): Promise<void> {
  for (let i = 0; i < Math.min(rounds / 4, 500); i++) await work();
  let left = rounds;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work();
    }),
  );
  const ms = performance.now() - start;
  console.log(
    `${label.padEnd(46)} ${((rounds / ms) * 1000).toFixed(0).padStart(7)}/s ${((ms / rounds) * 1000).toFixed(0).padStart(8)} µs`,
  );
}

async function once(label: string, work: () => Promise<unknown>): Promise<void> {
  const pauses = monitorEventLoopDelay({ resolution: 1 });
  pauses.enable();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve, 20));
  pauses.disable();
  console.log(
    `${label.padEnd(46)} ${ms.toFixed(0).padStart(7)} ms, longest event-loop pause ${(pauses.max / 1e6).toFixed(0)} ms`,
  );
}

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.address;
}
