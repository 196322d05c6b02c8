/** Encodes DNS messages. With compressed names, a 2048-bit DKIM key fits the 512 bytes of a client without EDNS. */
import ipaddr from "ipaddr.js";
import { classIn, type DnsMessage, type Edns, largestMessage, typeCodeOf, typeCodes } from "./message.ts";
import { labelsOf, MalformedMessage } from "./name-codec.ts";
import { canonicalName, type ResourceRecord } from "./record.ts";

/** Returns the message as bytes. A message over `maxBytes` is reduced to its question, with the TC flag set (RFC 2181 §9). */
export function writeMessage(message: DnsMessage, maxBytes = largestMessage): Buffer {
  try {
    const bytes = write(message);
    if (bytes.length <= maxBytes) return bytes;
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
  }
  return write({ ...message, truncated: true, answers: [], authorities: [], additionals: [] });
}

class TooLarge extends Error {}

type Writer = { bytes: Buffer; at: number; names: Map<string, number> };

function write(message: DnsMessage): Buffer {
  // 4 KiB are enough for nearly all messages. A larger one is encoded again into a buffer of the maximum size.
  try {
    return fill(message, Buffer.allocUnsafe(4096));
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return fill(message, Buffer.allocUnsafe(largestMessage));
  }
}

function fill(message: DnsMessage, bytes: Buffer): Buffer {
  const writer: Writer = { bytes, at: 0, names: new Map() };
  u16(writer, message.id);
  u16(writer, flagsOf(message));
  u16(writer, message.questions.length);
  u16(writer, message.answers.length);
  u16(writer, message.authorities.length);
  u16(writer, message.additionals.length + (message.edns ? 1 : 0));
  for (const question of message.questions) {
    writeName(writer, question.name);
    u16(writer, question.typeCode);
    u16(writer, question.classCode);
  }
  for (const section of [message.answers, message.authorities, message.additionals]) {
    for (const record of section) writeRecord(writer, record);
  }
  if (message.edns) writeEdns(writer, message.edns, message.rcode);
  return bytes.subarray(0, writer.at);
}

function flagsOf(message: DnsMessage): number {
  return (
    (message.response ? 0x8000 : 0) |
    (message.opcode << 11) |
    (message.authoritative ? 0x0400 : 0) |
    (message.truncated ? 0x0200 : 0) |
    (message.recursionDesired ? 0x0100 : 0) |
    (message.recursionAvailable ? 0x0080 : 0) |
    (message.authenticData ? 0x0020 : 0) |
    (message.checkingDisabled ? 0x0010 : 0) |
    (message.rcode & 0xf)
  );
}

function writeRecord(writer: Writer, record: ResourceRecord): void {
  writeName(writer, record.name);
  u16(writer, typeCodeOf(record));
  u16(writer, classIn);
  u32(writer, record.ttl);
  const lengthAt = writer.at;
  u16(writer, 0);
  writeData(writer, record);
  writer.bytes.writeUInt16BE(writer.at - lengthAt - 2, lengthAt);
}

function writeData(writer: Writer, record: ResourceRecord): void {
  switch (record.type) {
    case "A":
    case "AAAA": {
      const address = ipaddr.parse(record.address).toByteArray();
      if (address.length !== (record.type === "A" ? 4 : 16)) {
        throw new MalformedMessage(`${record.address} is not a valid address for an ${record.type} record`);
      }
      return copy(writer, Buffer.from(address));
    }
    case "CNAME":
    case "NS":
    case "PTR":
      return writeName(writer, record.target);
    case "MX":
      u16(writer, record.priority);
      return writeName(writer, record.exchange);
    case "TXT":
      return record.strings.forEach((text) => {
        writeString(writer, text);
      });
    case "HINFO":
      writeString(writer, record.cpu);
      return writeString(writer, record.os);
    case "SOA":
      writeName(writer, record.mname);
      writeName(writer, record.rname);
      for (const field of [record.serial, record.refresh, record.retry, record.expire, record.minimum])
        u32(writer, field);
      return;
    case "TLSA":
      for (const field of [record.usage, record.selector, record.matching]) u8(writer, field);
      return copy(writer, record.data);
    case "OTHER":
      return copy(writer, record.data);
  }
}

function writeEdns(writer: Writer, edns: Edns, rcode: number): void {
  u8(writer, 0);
  u16(writer, typeCodes.OPT);
  u16(writer, edns.udpBytes);
  u32(writer, ((((rcode >> 4) << 24) | (edns.version << 16)) >>> 0) + (edns.dnssecOk ? 0x8000 : 0));
  u16(writer, 0);
}

/** RFC 1035 §4.1.4: the longest suffix of the name that the message already contains becomes a pointer to it. */
function writeName(writer: Writer, name: string): void {
  const labels = labelsOf(name);
  for (const [index, label] of labels.entries()) {
    const suffix = canonicalName(labels.slice(index).map(keyOf).join("."));
    const known = writer.names.get(suffix);
    if (known !== undefined) return u16(writer, 0xc000 | known);
    if (writer.at < 0x4000) writer.names.set(suffix, writer.at);
    u8(writer, label.length);
    copy(writer, label);
  }
  u8(writer, 0);
}

function keyOf(label: Buffer): string {
  return label.toString("latin1").replaceAll(".", "\\.");
}

function writeString(writer: Writer, text: string): void {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length > 255) throw new MalformedMessage("a string of a TXT record is over 255 bytes");
  u8(writer, bytes.length);
  copy(writer, bytes);
}

function copy(writer: Writer, data: Uint8Array): void {
  ensureSpace(writer, data.length);
  writer.bytes.set(data, writer.at);
  writer.at += data.length;
}

function u8(writer: Writer, value: number): void {
  ensureSpace(writer, 1);
  writer.at = writer.bytes.writeUInt8(value, writer.at);
}

function u16(writer: Writer, value: number): void {
  ensureSpace(writer, 2);
  writer.at = writer.bytes.writeUInt16BE(value, writer.at);
}

function u32(writer: Writer, value: number): void {
  ensureSpace(writer, 4);
  writer.at = writer.bytes.writeUInt32BE(value, writer.at);
}

function ensureSpace(writer: Writer, length: number): void {
  if (writer.at + length > writer.bytes.length) throw new TooLarge();
}
