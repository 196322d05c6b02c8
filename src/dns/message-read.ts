/** Parses a DNS message. Every length is checked against the message and against its record. */
import ipaddr from "ipaddr.js";
import { type DnsMessage, type Edns, type Question, typeCodes } from "./message.ts";
import { MalformedMessage, readName } from "./name-codec.ts";
import type { ResourceRecord } from "./record.ts";

export const headerBytes = 12;
/** Questions and records per message. No real answer needs more, but 64 KiB could hold eleven thousand short ones. */
const maxEntries = 1000;

/** Throws MalformedMessage, and no other error, on bytes that are not exactly one message. */
export function readDnsMessage(bytes: Buffer): DnsMessage {
  const message = readHeader(bytes);
  const entries = [4, 6, 8, 10].reduce((sum, offset) => sum + bytes.readUInt16BE(offset), 0);
  if (entries > maxEntries) throw new MalformedMessage(`the message has ${entries} questions and records`);
  let at = headerBytes;
  for (let i = bytes.readUInt16BE(4); i > 0; i--) {
    const question = readQuestion(bytes, at);
    message.questions.push(question.question);
    at = question.end;
  }
  for (const [offset, section] of [
    [6, message.answers],
    [8, message.authorities],
    [10, message.additionals],
  ] as const) {
    for (let i = bytes.readUInt16BE(offset); i > 0; i--) at = readRecord(bytes, at, message, section);
  }
  if (at !== bytes.length) throw new MalformedMessage("bytes follow the message");
  return message;
}

/** Parses only the header, so that the server can answer a message whose rest is malformed. */
export function readHeader(bytes: Buffer): DnsMessage {
  if (bytes.length < headerBytes) throw new MalformedMessage("the message is shorter than its header");
  const flags = bytes.readUInt16BE(2);
  return {
    id: bytes.readUInt16BE(0),
    response: (flags & 0x8000) !== 0,
    opcode: (flags >> 11) & 0xf,
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionDesired: (flags & 0x0100) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    authenticData: (flags & 0x0020) !== 0,
    checkingDisabled: (flags & 0x0010) !== 0,
    rcode: flags & 0xf,
    questions: [],
    answers: [],
    authorities: [],
    additionals: [],
  };
}

function readQuestion(bytes: Buffer, offset: number): { question: Question; end: number } {
  const { name, end } = readName(bytes, offset);
  need(bytes, end, 4);
  return {
    question: { name, typeCode: bytes.readUInt16BE(end), classCode: bytes.readUInt16BE(end + 2) },
    end: end + 4,
  };
}

function readRecord(bytes: Buffer, offset: number, message: DnsMessage, section: ResourceRecord[]): number {
  const { name, end } = readName(bytes, offset);
  need(bytes, end, 10);
  const typeCode = bytes.readUInt16BE(end);
  const classCode = bytes.readUInt16BE(end + 2);
  const ttl = bytes.readUInt32BE(end + 4);
  const from = end + 10;
  const to = from + bytes.readUInt16BE(end + 8);
  need(bytes, from, to - from);
  if (typeCode === typeCodes.OPT) {
    // RFC 6891 §6.1.1: at most one OPT record, owned by the root, in the additional section.
    if (message.edns !== undefined || name !== "" || section !== message.additionals) {
      throw new MalformedMessage("the message has a misplaced OPT record");
    }
    message.edns = readEdns(bytes, { udpBytes: classCode, ttl, from, to });
    message.rcode |= (ttl >>> 24) << 4;
    return to;
  }
  // RFC 2181 §8: a TTL with its top bit set counts as zero.
  const owner = { name, ttl: ttl > 0x7fffffff ? 0 : ttl };
  section.push({ ...owner, ...readData(bytes, typeCode, from, to) } as ResourceRecord);
  return to;
}

function readEdns(bytes: Buffer, opt: { udpBytes: number; ttl: number; from: number; to: number }): Edns {
  for (let at = opt.from; at < opt.to; ) {
    if (at + 4 > opt.to) throw new MalformedMessage("an EDNS option is cut off");
    at += 4 + bytes.readUInt16BE(at + 2);
    if (at > opt.to) throw new MalformedMessage("an EDNS option is longer than its record");
  }
  return { udpBytes: opt.udpBytes, version: (opt.ttl >>> 16) & 0xff, dnssecOk: (opt.ttl & 0x8000) !== 0 };
}

function readData(bytes: Buffer, typeCode: number, from: number, to: number): object {
  const exact = <T>(value: T, end: number): T => {
    if (end !== to) throw new MalformedMessage("the data of a record does not match its length");
    return value;
  };
  const nameAt = (offset: number): { name: string; end: number } => {
    const read = readName(bytes, offset);
    if (read.end > to) throw new MalformedMessage("a name is longer than its record");
    return read;
  };
  switch (typeCode) {
    case typeCodes.A:
    case typeCodes.AAAA: {
      exact(undefined, from + (typeCode === typeCodes.A ? 4 : 16));
      const address = ipaddr.fromByteArray([...bytes.subarray(from, to)]).toString();
      return { type: typeCode === typeCodes.A ? "A" : "AAAA", address };
    }
    case typeCodes.CNAME:
    case typeCodes.NS:
    case typeCodes.PTR: {
      const { name, end } = nameAt(from);
      const type = typeCode === typeCodes.CNAME ? "CNAME" : typeCode === typeCodes.NS ? "NS" : "PTR";
      return exact({ type, target: name }, end);
    }
    case typeCodes.MX: {
      need(bytes, from, 3);
      const { name, end } = nameAt(from + 2);
      return exact({ type: "MX", priority: bytes.readUInt16BE(from), exchange: name }, end);
    }
    case typeCodes.TXT:
      return { type: "TXT", strings: readStrings(bytes, from, to) };
    case typeCodes.HINFO: {
      const [cpu, os, ...more] = readStrings(bytes, from, to);
      if (cpu === undefined || os === undefined || more.length > 0)
        throw new MalformedMessage("a HINFO record does not have exactly two strings");
      return { type: "HINFO", cpu, os };
    }
    case typeCodes.TLSA:
      need(bytes, from, 3);
      // RFC 6698 §2.1. The association data may have any length; smtp/client/dane.ts judges it.
      if (to - from < 3) throw new MalformedMessage("a TLSA record is cut off");
      return {
        type: "TLSA",
        usage: bytes[from],
        selector: bytes[from + 1],
        matching: bytes[from + 2],
        // A copy, because the cache would otherwise keep the whole message.
        data: Buffer.from(bytes.subarray(from + 3, to)),
      };
    case typeCodes.SOA:
      return exact(...readSoa(bytes, nameAt, from));
    default:
      return { type: "OTHER", typeCode, data: bytes.subarray(from, to) };
  }
}

function readSoa(
  bytes: Buffer,
  nameAt: (offset: number) => { name: string; end: number },
  from: number,
): [object, number] {
  const mname = nameAt(from);
  const rname = nameAt(mname.end);
  need(bytes, rname.end, 20);
  const [serial, refresh, retry, expire, minimum] = [0, 4, 8, 12, 16].map((i) => bytes.readUInt32BE(rname.end + i));
  const soa = { type: "SOA", mname: mname.name, rname: rname.name, serial, refresh, retry, expire, minimum };
  return [soa, rname.end + 20];
}

function readStrings(bytes: Buffer, from: number, to: number): string[] {
  const strings: string[] = [];
  for (let at = from; at < to; ) {
    const end = at + 1 + (bytes[at] ?? 0);
    if (end > to) throw new MalformedMessage("a string is longer than its record");
    strings.push(bytes.toString("latin1", at + 1, end));
    at = end;
  }
  if (strings.length === 0) throw new MalformedMessage("a TXT record has no string");
  return strings;
}

function need(bytes: Buffer, offset: number, length: number): void {
  if (offset + length > bytes.length) throw new MalformedMessage("the message is cut off");
}
