/** Computes the authoritative server's answer to one packet, however malformed. `authority.ts` receives and sends the bytes. */
import { maxChain } from "./interpret.ts";
import {
  classIn,
  type DnsMessage,
  largestMessage,
  plainUdpBytes,
  type Question,
  rcodes,
  safeUdpBytes,
  typeCodeOf,
  typeCodes,
} from "./message.ts";
import { headerBytes, readDnsMessage, readHeader } from "./message-read.ts";
import { writeMessage } from "./message-write.ts";
import { MalformedMessage } from "./name-codec.ts";
import { canonicalName, type RecordOf, type ResourceRecord } from "./record.ts";
import type { Zone, ZoneFinder } from "./zone.ts";

export type DnsReply = { bytes: Buffer; rcode: number };

/** Undefined means that the packet gets no answer. Rejects only if a zone does; the caller then sends `failureReply`. */
export async function answerPacket(
  packet: Buffer,
  transport: Transport,
  findZone: ZoneFinder,
): Promise<DnsReply | undefined> {
  const query = readQuery(packet);
  if (query === undefined) return undefined;
  if ("refusal" in query) return finish(query, replyTo(query.message, query.refusal), transport);
  return finish(query, await answerQuestion(query.question, query.message, findZone), transport);
}

/** SERVFAIL, for a question that this server failed to answer. */
export function failureReply(packet: Buffer, transport: Transport): DnsReply | undefined {
  const query = readQuery(packet);
  return query && finish(query, replyTo(query.message, rcodes.SERVFAIL), transport);
}

/** An empty truncated answer: a real client retries over TCP, and a forged query amplifies nothing. */
export function slipReply(packet: Buffer): DnsReply | undefined {
  const query = readQuery(packet);
  if (query === undefined || "refusal" in query) return undefined;
  return finish(query, { ...replyTo(query.message, rcodes.NOERROR), truncated: true }, "udp");
}

type Transport = "udp" | "tcp";
type Query = { message: DnsMessage; question: Question } | { message: DnsMessage; refusal: number };

function readQuery(packet: Buffer): Query | undefined {
  // Answering a response could start an endless exchange between two servers.
  if (packet.length < headerBytes || (packet[2]! & 0x80) !== 0) return undefined;
  const header = readHeader(packet);
  if (header.opcode !== 0) return { message: header, refusal: rcodes.NOTIMP };
  let message: DnsMessage;
  try {
    message = readDnsMessage(packet);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    return { message: header, refusal: rcodes.FORMERR };
  }
  const [question, ...more] = message.questions;
  // RFC 9619 §4: a query has exactly one question.
  if (question === undefined || more.length > 0) {
    return { message: { ...message, questions: [] }, refusal: rcodes.FORMERR };
  }
  const refusal = refusalOf(message, question);
  return refusal === undefined ? { message, question } : { message, refusal };
}

function refusalOf({ edns, answers, authorities }: DnsMessage, { typeCode, classCode }: Question): number | undefined {
  // RFC 6891 §6.1.3
  if (edns && edns.version > 0) return rcodes.BADVERS;
  if (classCode !== classIn) return rcodes.REFUSED;
  if (typeCode === typeCodes.AXFR || typeCode === typeCodes.IXFR) return rcodes.REFUSED;
  if (answers.length > 0 || authorities.length > 0 || typeCode === typeCodes.OPT) return rcodes.FORMERR;
  // RFC 6895 §3.1: types 128 to 255 are meta types. This server supports only ANY of them.
  if (typeCode >= 128 && typeCode < typeCodes.ANY) return rcodes.NOTIMP;
  return undefined;
}

async function answerQuestion(question: Question, query: DnsMessage, findZone: ZoneFinder): Promise<DnsMessage> {
  const first = await findZone(canonicalName(question.name));
  if (first === undefined) return replyTo(query, rcodes.REFUSED);
  const reply = { ...replyTo(query, rcodes.NOERROR), authoritative: true };
  const seen = new Set<string>();
  let zone: Zone = first;
  // RFC 4343 §4.1: the answer keeps the case of the name in the question.
  let owner = question.name;
  for (;;) {
    const name = canonicalName(owner);
    const records = await zone.find(name);
    if (records === undefined) return { ...reply, rcode: rcodes.NXDOMAIN, authorities: [negativeSoa(zone)] };
    seen.add(name);
    const selected = select(records, question.typeCode, owner);
    reply.answers.push(...selected);
    const alias = records.find((record): record is RecordOf<"CNAME"> => record.type === "CNAME");
    if (
      selected.some((record) => record.type !== "CNAME") ||
      question.typeCode === typeCodes.CNAME ||
      alias === undefined
    ) {
      return selected.length > 0 ? reply : { ...reply, authorities: [negativeSoa(zone)] };
    }
    // RFC 1034 §4.3.2 (3a): follow the alias as long as its target is in a zone that this server serves.
    const next = seen.has(canonicalName(alias.target)) ? undefined : await findZone(canonicalName(alias.target));
    if (next === undefined || seen.size > maxChain) return reply;
    zone = next;
    owner = alias.target;
  }
}

function select(records: readonly ResourceRecord[], typeCode: number, owner: string): ResourceRecord[] {
  if (typeCode === typeCodes.ANY) {
    // RFC 8482 §4.2: a synthesised HINFO instead of all records, which would only help amplification attacks.
    return records.length === 0 ? [] : [{ name: owner, ttl: 3600, type: "HINFO", cpu: "RFC8482", os: "" }];
  }
  return records
    .filter((record) => typeCodeOf(record) === typeCode || record.type === "CNAME")
    .map((record) => ({ ...record, name: owner }));
}

/** RFC 2308 §3: the TTL of the SOA in a negative answer limits how long clients may cache the absence. */
function negativeSoa(zone: Zone): ResourceRecord {
  return { ...zone.soa, ttl: Math.min(zone.soa.ttl, zone.soa.minimum) };
}

function replyTo(query: DnsMessage, rcode: number): DnsMessage {
  return {
    ...query,
    response: true,
    rcode,
    authoritative: false,
    truncated: false,
    recursionAvailable: false,
    // RFC 6840 §5.7: the flag in a query only asks for it. This server validates nothing.
    authenticData: false,
    answers: [],
    authorities: [],
    additionals: [],
    ...(query.edns ? { edns: { udpBytes: safeUdpBytes, version: 0, dnssecOk: query.edns.dnssecOk } } : {}),
  };
}

function finish({ message }: Query, reply: DnsMessage, transport: Transport): DnsReply {
  // RFC 6891 §6.2.3: a size below 512 counts as 512.
  const clientLimit = Math.max(plainUdpBytes, message.edns?.udpBytes ?? 0);
  const limit = transport === "tcp" ? largestMessage : Math.min(safeUdpBytes, clientLimit);
  return { bytes: writeMessage(reply, limit), rcode: reply.rcode };
}
