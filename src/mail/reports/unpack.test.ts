import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { ReportProblem } from "./refusal.ts";
import { maxUnpackedBytes, unpack } from "./unpack.ts";

const text = Buffer.from("<feedback/>");

test("unpacks gzip, zip and plain data", async () => {
  for (const packed of [text, gzipSync(text), zipOf([{ content: text }])])
    assert.equal(String(await unpack(packed)), "<feedback/>");
});

test("ignores line ends after gzip data, which Mimecast adds", async () => {
  assert.equal(String(await unpack(Buffer.concat([gzipSync(text), Buffer.from("\r\n")]))), "<feedback/>");
});

const zeros = Buffer.alloc(maxUnpackedBytes + 1);
const refused: [string, Buffer, RegExp][] = [
  ["a gzip bomb", gzipSync(zeros), /when it is unpacked/],
  ["a gzip bomb in a small file", gzipSync(Buffer.alloc(2 * 1024 * 1024)), /when it is unpacked/],
  ["a zip bomb", zipOf([{ content: zeros }]), /when it is unpacked/],
  ["a zip bomb that lies about its size", zipOf([{ content: zeros, size: 100 }]), /damaged/],
  ["an archive with two files", zipOf([{ content: text }, { content: text }]), /2 files instead of one/],
  ["an archive without files", Buffer.concat([Buffer.from("PK\x03\x04"), zipOf([])]), /0 files|damaged/],
  ["a cut archive", zipOf([{ content: text }]).subarray(0, -10), /damaged/],
  ["cut gzip data", gzipSync(Buffer.from("x".repeat(1000))).subarray(0, -5), /damaged/],
  ["plain data that is too large", zeros, /more than/],
];

for (const [name, packed, message] of refused)
  test(`refuses ${name}`, async () => {
    await assert.rejects(unpack(packed), (error) => error instanceof ReportProblem && message.test(error.message));
  });

/** A zip archive (PKWARE APPNOTE 4.3). `size`: what the headers say, instead of the truth. */
function zipOf(files: { content: Buffer; size?: number }[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { content, size = content.length } of files) {
    const data = deflateRawSync(content);
    const common = Buffer.alloc(22);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(size, 18);
    const lengths = Buffer.from([1, 0, 0, 0]);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, lengths, Buffer.from("a"), data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, lengths, rest, Buffer.from("a")]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}
