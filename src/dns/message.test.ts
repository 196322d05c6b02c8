import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, decode, encode } from "dns-packet";
import fc from "fast-check";
import { type DnsMessage, queryMessage, typeCodes } from "./message.ts";
import { readDnsMessage } from "./message-read.ts";
import { writeMessage } from "./message-write.ts";
import { labelsOf, MalformedMessage, readName } from "./name-codec.ts";
import type { ResourceRecord } from "./record.ts";

const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
const u8 = fc.integer({ min: 0, max: 0xff });
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffffffff });
const ttl = fc.integer({ min: 0, max: 0x7fffffff });
const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((one) => Buffer.from(one).toString("latin1"));

const record: fc.Arbitrary<ResourceRecord> = fc.oneof(
  fc.record({ name, ttl, type: fc.constant("A" as const), address: fc.ipV4() }),
  fc.record({ name, ttl, type: fc.constantFrom("CNAME" as const, "NS" as const, "PTR" as const), target: name }),
  fc.record({ name, ttl, type: fc.constant("MX" as const), priority: u16, exchange: name }),
  fc.record({
    name,
    ttl,
    type: fc.constant("TXT" as const),
    strings: fc.array(bytes(255), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    name,
    ttl,
    type: fc.constant("TLSA" as const),
    usage: u8,
    selector: u8,
    matching: u8,
    data: fc.uint8Array({ minLength: 1, maxLength: 70 }).map((one) => Buffer.from(one)),
  }),
  fc.record({ name, ttl, type: fc.constant("HINFO" as const), cpu: label, os: label }),
  fc.record({
    name,
    ttl,
    type: fc.constant("SOA" as const),
    mname: name,
    rname: name,
    serial: u32,
    refresh: u32,
    retry: u32,
    expire: u32,
    minimum: u32,
  }),
);
const message: fc.Arbitrary<DnsMessage> = fc.record({
  id: u16,
  response: fc.boolean(),
  opcode: fc.integer({ min: 0, max: 15 }),
  authoritative: fc.boolean(),
  truncated: fc.boolean(),
  recursionDesired: fc.boolean(),
  recursionAvailable: fc.boolean(),
  authenticData: fc.boolean(),
  checkingDisabled: fc.boolean(),
  rcode: fc.integer({ min: 0, max: 15 }),
  questions: fc.array(fc.record({ name, typeCode: u16, classCode: u16 }), { maxLength: 2 }),
  answers: fc.array(record, { maxLength: 6 }),
  authorities: fc.array(record, { maxLength: 3 }),
  additionals: fc.array(record, { maxLength: 3 }),
});

test("an encoded message parses back to the same value", () => {
  fc.assert(
    fc.property(message, (one) => {
      const read = readDnsMessage(writeMessage(one));
      // Compression may point to an earlier name that differs in case.
      assert.deepEqual(lower(read), lower(one));
    }),
    { seed: 4, numRuns: 500 },
  );
});

test("an independent library parses our messages, and we parse its messages", () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 6 }), (answers) => {
      const query = queryMessage({ id: 7, name: "a.test", typeCode: typeCodes.TXT, recursion: true, edns: true });
      const written = writeMessage({ ...query, response: true, answers });
      const theirs = decode(written);
      assert.equal(theirs.answers?.length, answers.length);
      const again = encode({ ...theirs, additionals: [], answers: theirs.answers as Answer[] });
      assert.deepEqual(lower(readDnsMessage(again).answers), lower(answers));
    }),
    { seed: 5, numRuns: 300 },
  );
});

test("a 2048-bit DKIM key fits the 512 bytes of a client without EDNS", () => {
  const text = `v=DKIM1; k=rsa; p=${"A".repeat(392)}`;
  const owner = "k3xq7vbn2mk3xq7vbn2m-1.dkim.mail.posthorn.test";
  const query = queryMessage({ id: 1, name: owner, typeCode: typeCodes.TXT, recursion: false, edns: false });
  const strings = [text.slice(0, 255), text.slice(255)];
  const reply = { ...query, response: true, answers: [{ name: owner, ttl: 60, type: "TXT" as const, strings }] };
  assert.ok(!readDnsMessage(writeMessage(reply, 512)).truncated);
});

test("a message over the limit is truncated to its question", () => {
  const query = queryMessage({ id: 1, name: "a.test", typeCode: typeCodes.TXT, recursion: false, edns: true });
  const answers = Array.from({ length: 300 }, () => ({
    name: "a.test",
    ttl: 60,
    type: "TXT" as const,
    strings: ["x".repeat(255)],
  }));
  for (const limit of [512, 1232, undefined]) {
    const cut = readDnsMessage(writeMessage({ ...query, response: true, answers }, limit));
    assert.deepEqual([cut.truncated, cut.answers.length, cut.questions.length, cut.edns?.version], [true, 0, 1, 0]);
  }
});

test("arbitrary bytes either parse or throw MalformedMessage", () => {
  const mutated = fc.tuple(
    message,
    fc.array(fc.tuple(fc.nat(600), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
    fc.nat(600),
  );
  const check = (input: Buffer): void => {
    try {
      readDnsMessage(input);
    } catch (error) {
      assert.ok(error instanceof MalformedMessage, String(error));
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (input) => check(Buffer.from(input))),
    { seed: 6, numRuns: 3000 },
  );
  fc.assert(
    fc.property(mutated, ([one, changes, length]) => {
      const input = Buffer.from(writeMessage(one));
      for (const [at, value] of changes) if (at < input.length) input[at] = value;
      check(input);
      check(input.subarray(0, length));
    }),
    { seed: 7, numRuns: 2000 },
  );
});

test("a message with 1,000 questions and records is parsed; one more is rejected by its header", () => {
  const questions = (count: number) => {
    const one = Buffer.from([0, 0, 1, 0, 1]);
    const header = Buffer.alloc(12);
    header.writeUInt16BE(count, 4);
    return Buffer.concat([header, ...Array.from({ length: count }, () => one)]);
  };
  assert.equal(readDnsMessage(questions(1000)).questions.length, 1000);
  assert.throws(() => readDnsMessage(questions(1001)), /1001 questions and records/);
});

test("a TLSA record without its three fields makes the message malformed; its data may have any length", () => {
  const query = queryMessage({ id: 1, name: "a.test", typeCode: typeCodes.TLSA, recursion: true, edns: false });
  const reply = (data: number[]) =>
    readDnsMessage(
      writeMessage({
        ...query,
        answers: [{ name: "a.test", ttl: 60, type: "OTHER", typeCode: typeCodes.TLSA, data: Uint8Array.from(data) }],
      }),
    ).answers[0];
  for (const short of [[], [3], [3, 1]]) assert.throws(() => reply(short), MalformedMessage);
  assert.deepEqual(reply([3, 1, 1]), {
    ...{ name: "a.test", ttl: 60, type: "TLSA", usage: 3, selector: 1, matching: 1 },
    data: Buffer.alloc(0),
  });
});

test("names keep unusual bytes and dots inside labels, and invalid names are not encoded", () => {
  const wire = Buffer.from([3, 0x61, 0x2e, 0x62, 2, 0x5c, 0x00, 1, 0xe9, 0]);
  const { name: shown, end } = readName(wire, 0);
  assert.equal(shown, "a\\.b.\\\\\\000.\\233");
  assert.equal(end, wire.length);
  assert.deepEqual(
    Buffer.concat(labelsOf(shown).flatMap((one) => [Buffer.from([one.length]), one])),
    wire.subarray(0, -1),
  );
  for (const bad of [
    "a..b",
    ".",
    "a b",
    "é.test",
    `${"a".repeat(64)}.test`,
    `${"a.".repeat(128)}a`,
    "a\\999.b",
    "a\\",
  ]) {
    assert.throws(() => labelsOf(bad), MalformedMessage, bad);
  }
});

test("compression pointers must point backwards, and their number is limited", () => {
  const loop = Buffer.alloc(16);
  loop.writeUInt16BE(0xc000 | 12, 12);
  assert.throws(() => readName(loop, 12), MalformedMessage);
  const forward = Buffer.from([0xc0, 0x02, 0x00]);
  assert.throws(() => readName(forward, 0), MalformedMessage);
  const chain = Buffer.alloc(200);
  for (let at = 2; at < 200; at += 2) chain.writeUInt16BE(0xc000 | (at - 2), at);
  assert.throws(() => readName(chain, 198), MalformedMessage);
});

function lower<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, one) =>
    ["name", "target", "exchange", "mname", "rname"].includes(key) ? String(one).toLowerCase() : one,
  );
}
