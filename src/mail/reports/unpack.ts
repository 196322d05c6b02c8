/** Unpacks a report: gzip, a zip archive with one file, or neither. Senders often label it wrongly, so its first octets decide. The limits
 * hold while it is unpacked, not afterwards. Called by read.ts. */
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { type Entry, fromBuffer, type Options, type ZipFile } from "yauzl";
import { ReportProblem } from "./refusal.ts";

const mib = 1024 * 1024;
export const maxPackedBytes = 10 * mib;
/** Reading 16 MiB of XML takes three seconds of CPU time; a thread for inbound mail has five. */
export const maxUnpackedBytes = 16 * mib;
/** Reports in XML are packed to a twentieth, sometimes to a hundredth. Deflate reaches a thousandth with zeros only. */
const maxRatio = 250;
/** A small report may have any ratio. */
const alwaysBytes = mib;

export async function unpack(bytes: Buffer): Promise<Buffer> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  // A zip archive begins with the header of its first file.
  const isZip = bytes.subarray(0, 4).equals(Buffer.from("PK\x03\x04", "latin1"));
  if (!isGzip && !isZip) return withinLimit(bytes, maxUnpackedBytes);
  withinLimit(bytes, maxPackedBytes);
  const limit = Math.min(maxUnpackedBytes, Math.max(alwaysBytes, bytes.length * maxRatio));
  return isGzip ? unpackGzip(bytes, limit) : await unpackZip(bytes, limit);
}

function withinLimit(bytes: Buffer, limit: number): Buffer {
  if (bytes.length > limit) throw new ReportProblem("too_large", `the report has more than ${limit} octets`);
  return bytes;
}

function unpackGzip(bytes: Buffer, limit: number): Buffer {
  try {
    return gunzipSync(withoutLineEnds(bytes), { maxOutputLength: limit });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") throw unpackedTooLarge(limit);
    throw new ReportProblem("unreadable", "the gzip data is damaged");
  }
}

/** Mimecast adds a line end, which zlib takes for the header of another member. RFC 1952 §2.3.1: the last octets are the size, little-endian,
 * so data that ends with a line end itself would be larger than any limit. */
function withoutLineEnds(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0d || bytes[end - 1] === 0x0a)) end -= 1;
  return bytes.subarray(0, end);
}

const openZip = promisify<Buffer, Options, ZipFile>(fromBuffer);

async function unpackZip(bytes: Buffer, limit: number): Promise<Buffer> {
  // yauzl ends the stream when an entry has more octets than its header says.
  const options = { lazyEntries: true, validateEntrySizes: true } as Options;
  const file = await openZip(bytes, options).catch(() => {
    throw new ReportProblem("unreadable", "the zip archive is damaged");
  });
  try {
    if (file.entryCount !== 1)
      throw new ReportProblem("invalid", `the zip archive has ${file.entryCount} files instead of one`);
    const entry = await entryOf(file);
    if (entry.uncompressedSize > limit) throw unpackedTooLarge(limit);
    return await contentOf(file, entry, limit);
  } catch (error) {
    throw error instanceof ReportProblem ? error : new ReportProblem("unreadable", "the zip archive is damaged");
  } finally {
    file.close();
  }
}

function entryOf(file: ZipFile): Promise<Entry> {
  return new Promise((resolve, reject) => {
    file.once("entry", resolve);
    file.once("error", reject);
    file.once("end", () => reject(new Error("no entry")));
    file.readEntry();
  });
}

async function contentOf(file: ZipFile, entry: Entry, limit: number): Promise<Buffer> {
  const stream = await promisify<Entry, NodeJS.ReadableStream>(file.openReadStream.bind(file))(entry);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw unpackedTooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function unpackedTooLarge(limit: number): ReportProblem {
  return new ReportProblem("too_large", `the report has more than ${limit} octets when it is unpacked`);
}
