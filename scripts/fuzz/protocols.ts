/** Fuzz targets for protocols: SMTP from clients and from servers, DNS packets. */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { classify } from "../../src/delivery/rules/outcome.ts";
import { answerPacket } from "../../src/dns/authority-answer.ts";
import { interpret } from "../../src/dns/interpret.ts";
import { queryMessage, typeCodes } from "../../src/dns/message.ts";
import { readDnsMessage } from "../../src/dns/message-read.ts";
import { writeMessage } from "../../src/dns/message-write.ts";
import { MalformedMessage } from "../../src/dns/name-codec.ts";
import { recordsZone, textRecord, zoneList } from "../../src/dns/zone.ts";
import { serviceZone } from "../../src/domains/service-zone.ts";
import { BareLineEnd, bodyPieces } from "../../src/smtp/client/body.ts";
import { readPublicKeyInfo } from "../../src/smtp/client/certificate-key.ts";
import { createDanePolicy, matchChain } from "../../src/smtp/client/dane.ts";
import { ReplyReader, replyLimits } from "../../src/smtp/client/reply.ts";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { createDataReader } from "../../src/smtp/server/data.ts";
import { readCommand, readGreetingName, readPath } from "../../src/smtp/server/input.ts";
import { bytes, cut, cuts } from "./inputs.ts";
import { target } from "./target.ts";

const commandTokens = [
  "MAIL FROM:",
  "RCPT TO:",
  "<",
  ">",
  "a@b.test",
  " SIZE=",
  "10",
  " BODY=8BITMIME",
  "EHLO ",
  "@a,@b:",
  "%",
  " ",
];
const commands = target("smtp-commands", bytes(commandTokens), (line) => {
  const command = readCommand(line);
  if (!command) return;
  readGreetingName(command.rest);
  for (const keyword of ["FROM", "TO"] as const) {
    const path = readPath(command.rest, keyword);
    if (path) assert.doesNotMatch(path.address, /[\s<>]/);
  }
});

const dataTokens = [".", "..", "\r\n", "\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "a", "QUIT\r\n"];
/** The message ends at CRLF dot CRLF and nowhere else, however the stream is split. */
const data = target("smtp-data", fc.tuple(bytes(dataTokens), cuts), ([text, positions]) => {
  const reader = createDataReader({ maxBytes: 64 * 1024, reserve: () => true });
  let rest = text.length;
  for (const piece of cut(text, positions)) {
    const step = reader(Buffer.from(piece));
    rest -= piece.length;
    if (!step) continue;
    if (step.result.kind !== "message") return;
    const read = text.length - rest - (step.rest?.length ?? 0);
    const whole = text.subarray(0, read).toString("latin1");
    assert.ok(whole === ".\r\n" || whole.endsWith("\r\n.\r\n"), "ends with the final dot");
    assert.equal(`\r\n${whole}`.indexOf("\r\n.\r\n"), whole.length + 2 - 5, "ends at the first final dot");
    assert.doesNotMatch(whole, /[^\r]\n|\r[^\n]/, "contains no bare CR or LF");
    return;
  }
});

/** Outgoing messages: any bytes are either refused before sending, or cannot end the message early. */
const body = target("smtp-body", bytes(dataTokens), (message) => {
  let wire: string;
  try {
    wire = Buffer.concat([...bodyPieces(message)].map(({ bytes: piece }) => piece)).toString("latin1");
  } catch (error) {
    if (error instanceof BareLineEnd) return;
    throw error;
  }
  assert.equal(`\r\n${wire}`.indexOf("\r\n.\r\n"), wire.length + 2 - 5, "one final dot, at the end");
});

const replyTokens = ["250 ", "250-", "550 5.1.1 ", "\r\n", "\n", "421", " (#5.2.2)", "2", "ü"];
const replies = target("smtp-replies", fc.tuple(bytes(replyTokens), cuts), ([text, positions]) => {
  const reader = new ReplyReader();
  let judged = false;
  for (const piece of cut(text, positions)) {
    const wrong = reader.push(piece, (reply) => {
      assert.ok(reply.code >= 200 && reply.code < 600);
      assert.ok(reply.line.length <= replyLimits.bytes * 2);
      // Classify only the first failure, since a command gets one reply.
      if (reply.code >= 400 && !judged) classify({ kind: "refused", phase: "rcpt", reply }, { relay: false });
      judged ||= reply.code >= 400;
    });
    if (wrong !== undefined) return;
  }
});

const zone = "mail.posthorn.test";
const service = serviceZone(
  { zone, hostname: `mx.${zone}`, publicIps: ["203.0.113.5"], serial: 7 },
  {
    dkimKey: async (label) => (label === "tok-1" ? "MIIB" : undefined),
    isReported: async (domain) => (domain === "example.com" ? true : undefined),
  },
);
const published = recordsZone({
  origin: "shop.example",
  serial: 1,
  nameServers: [`ns1.${zone}`],
  records: [
    { name: "loop.shop.example", ttl: 60, type: "CNAME", target: "loop.shop.example" },
    ...Array.from({ length: 20 }, (_, i) => textRecord("big.shop.example", `${i} ${"x".repeat(200)}`)),
  ],
});
const findZone = zoneList([service, published]);
const packets = [
  `spf.${zone}`,
  `tok-1.dkim.${zone}`,
  "loop.shop.example",
  "big.shop.example",
  "elsewhere.test",
].flatMap((name) =>
  [16, 5, 255, 1].map((typeCode) =>
    writeMessage(queryMessage({ id: 7, name, typeCode, recursion: false, edns: typeCode === 1 })),
  ),
);
const answers = await Promise.all(packets.map(async (packet) => (await answerPacket(packet, "tcp", findZone))!.bytes));

/** A packet is read or rejected as malformed, and a reply stays within the size limit of its transport. */
const dns = target(
  "dns",
  bytes(["\x00", "\xc0\x0c", "\x01a", "\x04mail", "\x3f"], [...packets, ...answers]),
  async (packet) => {
    for (const transport of ["udp", "tcp"] as const) {
      const reply = await answerPacket(packet, transport, findZone);
      if (reply) assert.ok(reply.bytes.length <= (transport === "udp" ? 1232 : 65_535));
    }
    try {
      const message = readDnsMessage(packet);
      for (const type of ["A", "TXT", "MX", "CNAME"] as const) interpret(message, "big.shop.example", type);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
    }
  },
);

const tlsaName = "_25._tcp.mx.test";
const certificate = new X509Certificate(makeSelfSigned("mx.test", 0).cert).raw;
const hash = createHash("sha256").update(certificate).digest();
const tlsaAnswer = writeMessage({
  ...queryMessage({ id: 7, name: tlsaName, typeCode: typeCodes.TLSA, recursion: true, edns: true, dnssecOk: true }),
  response: true,
  authenticData: true,
  answers: [
    { name: tlsaName, ttl: 60, type: "TLSA", usage: 3, selector: 0, matching: 1, data: hash },
    { name: tlsaName, ttl: 60, type: "TLSA", usage: 2, selector: 0, matching: 0, data: certificate },
  ],
});

/** TLSA records and a server's certificates: never an error, and a match only if a record of usage 3 repeats the certificate's hash. */
const dane = target(
  "dane",
  fc.tuple(
    bytes(["\x03\x00\x01", "\x02\x00\x00", "\x30\x82"], [tlsaAnswer]),
    bytes(["\x30\x82", "\x30"], [certificate]),
  ),
  ([packet, presented]) => {
    try {
      const found = interpret(readDnsMessage(packet), tlsaName, "TLSA");
      if (found.kind !== "found") return;
      const policy = createDanePolicy({ base: "mx.test", records: found.records, names: ["test"] });
      const { match } = matchChain(policy, [presented]);
      const listed = policy.records.filter(({ usage }) => usage === 3);
      assert.ok(!match || listed.length > 0, "only usage 3 matches by itself");
      const values = listed.map(({ data }) => Buffer.from(data).toString("hex"));
      const own = [presented, readPublicKeyInfo(presented)].filter((one) => one !== undefined);
      const possible = own.flatMap((one) => [
        one.toString("hex"),
        ...["sha256", "sha512"].map((name) => createHash(name).update(one).digest("hex")),
      ]);
      assert.ok(!match || values.some((value) => possible.includes(value)));
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
    }
  },
);

export const protocolTargets = [commands, data, body, replies, dns, dane];
