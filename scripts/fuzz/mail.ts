/** Fuzz targets for mail formats: addresses, messages, reports, texts, DNS records about mail. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { readDomainName } from "../../src/dns/name.ts";
import type { Resolver } from "../../src/dns/resolver.ts";
import { createVerdicts } from "../../src/inbound/verdicts.ts";
import { parseAddress } from "../../src/mail/address.ts";
import { formatAddressHeader } from "../../src/mail/address-header.ts";
import { parseDkimRecord, samePublicKey } from "../../src/mail/dkim-record.ts";
import { discoverDmarc } from "../../src/mail/dmarc.ts";
import { htmlToText } from "../../src/mail/html-text.ts";
import { decodeBody, decodedBytes } from "../../src/mail/message/body.ts";
import { digestMessage } from "../../src/mail/message/digest.ts";
import { ShapeProblem, shapeProblem, structureOf } from "../../src/mail/message/structure.ts";
import { parseMessageId, parseMessageIds } from "../../src/mail/message-id.ts";
import { parseContentType } from "../../src/mail/mime/content-type.ts";
import { newTextOf } from "../../src/mail/reply-text.ts";
import { readReturnPath } from "../../src/mail/return-path.ts";
import { parseSpf } from "../../src/mail/spf.ts";
import type { IncomingMail } from "../../src/smtp/server/policy.ts";
import { bytes, texts } from "./inputs.ts";
import { target } from "./target.ts";

const corpusFolder = new URL("../../test/corpus/inbound/", import.meta.url);
const corpus = readdirSync(corpusFolder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => readFileSync(new URL(file, corpusFolder)));

const addressTokens = [
  "a",
  "@",
  "b.test",
  "<",
  ">",
  "(",
  ")",
  ":",
  ".",
  "..",
  "Name ",
  "=?utf-8?q?a?=",
  "[",
  "]",
  "xn--",
  "-",
];
const address = target("address", texts(addressTokens), (text) => {
  const read = parseAddress(text);
  if (!read.ok) return;
  const { address: plain, name } = read.address;
  assert.doesNotMatch(plain + name, /[\r\n\0]/);
  for (const utf8 of [false, true]) {
    const line = formatAddressHeader("To", [read.address], { utf8 });
    assert.doesNotMatch(line.replace(/\r\n[ \t]/g, "").slice(0, -2), /[\r\n\0]/, "exactly one header field");
  }
  assert.deepEqual(
    parseAddress(plain),
    { ok: true, address: { ...read.address, name: "" } },
    "the plain address parses to itself",
  );
});

const mimeTokens = [
  "Content-Type: multipart/mixed; boundary=b\r\n",
  'Content-Type: multipart/alternative; boundary="b"\r\n',
  "Content-Type: message/rfc822\r\n",
  "Content-Type: text/html; charset=utf-16\r\n",
  "Content-Type: text/plain; charset=iso-2022-jp\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "Content-Transfer-Encoding: quoted-printable\r\n",
  "Content-Disposition: attachment; filename*0*=utf-8''a; filename*1=b\r\n",
  "Subject: =?utf-8?B?4pyT?= =?x?q?=00?=\r\n",
  "From: a <a@b.test>, (c) d:;\r\n",
  "In-Reply-To: <a@b>\r\n",
  "\r\n",
  "\r\n\r\n",
  "--b\r\n",
  "--b--\r\n",
  "=0D=0A=",
  "<p>a</p>",
  " ",
  "*",
  "<",
  ">",
  "@",
  ":",
];
/** For parsers in their own thread: htmlToText and newTextOf take a few µs for a line. */
const ownThread = { limitMs: 1000 };
/** Every message within the limits is parsed completely and can be stored. */
const mime = target("mime", bytes(mimeTokens, corpus), async (raw) => await readAll(raw), ownThread);

/** The parts of a message, in time that depends on its octets only. Bodies lie within the message, in order and without overlap. */
const structure = target("structure", bytes(mimeTokens, corpus), (raw) => {
  let end = 0;
  try {
    for (const leaf of structureOf(raw).leaves) {
      assert.ok(leaf.start >= end && leaf.end >= leaf.start && leaf.end <= raw.length);
      end = leaf.end;
      const body = raw.subarray(leaf.start, leaf.end);
      for (const encoding of ["base64", "quoted-printable", "identity"] as const)
        assert.equal(decodeBody(body, encoding).length, decodedBytes(body, encoding));
    }
  } catch (error) {
    assert.ok(error instanceof ShapeProblem, String(error));
  }
});

const reportTokens = [
  "Reporting-MTA: dns; mx.test\r\n",
  "Final-Recipient: rfc822; a@b.test\r\n",
  "Original-Recipient: rfc822;<a@b.test>\r\n",
  "Action: failed\r\n",
  "Status: 5.1.1\r\n",
  "Diagnostic-Code: smtp; 550 5.1.1 no such user\r\n",
  "Feedback-Type: abuse\r\n",
  "Original-Rcpt-To: a@b.test\r\n",
  "Arrival-Date: Thu, 8 Mar 2005 14:00:00 EDT\r\n",
  `Return-Path: <rp-${"a".repeat(52)}@b.test>\r\n`,
  "\r\n",
  "\r\n ",
  "rfc822;",
  "<a@",
  "(",
  " ",
];
/** Delivery status notifications and abuse reports: random fields within a valid MIME structure. */
const reports = target(
  "reports",
  bytes(reportTokens),
  async (fields) => {
    const type = fields.length % 2 === 0 ? "delivery-status" : "feedback-report";
    const head = `From: MAILER-DAEMON@b.test\r\nContent-Type: multipart/report; boundary=b\r\n\r\n`;
    const parts = [`text/plain`, `message/${type}`, "text/rfc822-headers"];
    const framed = parts.map((part) => Buffer.concat([Buffer.from(`--b\r\nContent-Type: ${part}\r\n\r\n`), fields]));
    await readAll(Buffer.concat([Buffer.from(head), ...framed, Buffer.from("\r\n--b--\r\n")]));
  },
  ownThread,
);

async function readAll(raw: Buffer): Promise<void> {
  if (shapeProblem(raw)) return;
  let digest: unknown;
  try {
    digest = await digestMessage(raw, { sender: "" });
  } catch (error) {
    // A text that has too many lines once it is decoded.
    assert.ok(error instanceof ShapeProblem, (error as Error).stack);
    return;
  }
  const text = JSON.stringify(digest);
  assert.ok(text.isWellFormed() && !text.includes("\\u0000"), "no NUL and no lone surrogates");
}

const signatureTokens = [
  "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=b.test; s=s1; h=from:subject; bh=AA==; b=",
  ...[
    "AAAA",
    "=",
    ";",
    ": ",
    "\r\n ",
    " ",
    "\r\nFrom: ",
    "a@b.test",
    "<",
    "(",
    ",",
    '"',
    "\r\nSubject: x",
    "\r\nReceived: ",
  ],
];
const policyTokens = [
  "v=spf1 ",
  "include:b.test ",
  "a:%{i} ",
  "exists:%{l1r-}.b.test ",
  "-all",
  "v=DKIM1; ",
  "p=AAAA",
  " ",
  ";",
];
const network = { helo: "b.test", ip: "192.0.2.1" };
/** SPF, DKIM and DMARC run in a library. Every message within the limits must be judged quickly. */
const verdicts = target(
  "verdicts",
  fc.tuple(texts(signatureTokens), texts(policyTokens)),
  async ([head, record]) => {
    const lines = head.slice(0, 60_000).replace(/\r(?!\n)|(?<!\r)\n/g, "");
    const message = Buffer.from(`${signatureTokens[0]}AA==\r\n${lines}\r\nFrom: a@b.test\r\n\r\nx\r\n`);
    if (shapeProblem(message)) return;
    const strings = [Buffer.from(record.slice(0, 60_000)).toString("latin1")];
    const lookup = async (name: string, type: string) =>
      type === "TXT"
        ? { kind: "found", records: [{ name, ttl: 60, type, strings }], chain: [], ttlSeconds: 60 }
        : { kind: "nodata", chain: [], ttlSeconds: 60 };
    const judge = createVerdicts({
      resolver: { lookup, stop() {} } as unknown as Resolver,
      hostname: "mx.test",
      onProblem: () => {},
    });
    await judge({ message, sender: "a@b.test", client: network } as unknown as IncomingMail);
  },
  // The library takes 200 ms for 60 KB of colons.
  { limitMs: 500 },
);

const writtenTokens = [
  ...[
    "<p>",
    "</p>",
    "<br>",
    "<blockquote>",
    "<!--",
    "-->",
    "<script>",
    "&#32;",
    "&#9;",
    "&#10;",
    "&amp;",
    "&",
    "<",
    ">",
  ],
  ...["On a, b wrote:\n", "Am a schrieb b:\n", " schrieb am ", "> ", ">", "*", "**From:** a\n", "Sent: b\n", "To: c\n"],
  ...["-----Original Message-----\n", "____________________\n", "\n", " ", "a"],
];
/** Runs in the thread that parses mail. A short line costs 2.5 µs, and here each text is read twice. */
const writing = target(
  "texts",
  texts(writtenTokens),
  (text) => {
    const plain = htmlToText(text);
    newTextOf(text);
    newTextOf(plain);
  },
  { limitMs: 500 },
);

const recordTokens = [
  ...["v=spf1 ", "include:", "ip4:", "1.2.3.4/33", "~all", "redirect=", "%{i}", "a:", "mx", "exists:", "/24//64"],
  ...["v=DMARC1", "p=none", ";", "rua=mailto:", "pct=", "v=DKIM1", "k=rsa", "p=", "MIIB", "t=y:s", "h=sha1", "=", ":"],
];
const records = target("records", texts(recordTokens), (text) => {
  parseSpf(text);
  discoverDmarc([text, text.slice(1)]);
  const dkim = parseDkimRecord(text);
  if (dkim.ok) samePublicKey(dkim.record.publicKey, dkim.record.publicKey.slice(1));
  parseContentType(text);
  parseMessageId(text);
  parseMessageIds(text);
});

const nameTokens = ["a", ".", "-", "xn--", "ü", "。", "_", "com", "co.uk", "127.0.0.1", "0x7f", "ß", "日本"];
const names = target("names", texts(nameTokens), (text) => {
  const read = readDomainName(text);
  if (read.ok) assert.match(read.name.ascii, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
});

const returnKey = Buffer.alloc(32, 1);
const returnPaths = target("return-path", texts(["rp-", "a", "2", "7", "=", "@", "b.test", "A"]), (text) => {
  assert.equal(readReturnPath(text, [returnKey]), undefined, "a guessed token must not be valid");
});

export const mailTargets = [address, mime, structure, reports, verdicts, writing, records, names, returnPaths];
