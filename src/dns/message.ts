/** The type of a DNS message, and the protocol's constants. `message-read.ts` parses messages, `message-write.ts` encodes them. */
import type { ResourceRecord } from "./record.ts";

export const typeCodes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  TLSA: 52,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

export const classIn = 1;

/** RFC 9715 §3.1: the largest answer that avoids fragmentation. */
export const safeUdpBytes = 1232;
/** RFC 1035 §4.2.1: the largest answer that a client without EDNS accepts. */
export const plainUdpBytes = 512;

/** The maximum of the two-byte length in front of a message over TCP. */
export const largestMessage = 65_535;

export type Question = { name: string; typeCode: number; classCode: number };

export type Edns = { udpBytes: number; version: number; dnssecOk: boolean };

export type DnsMessage = {
  id: number;
  response: boolean;
  opcode: number;
  authoritative: boolean;
  truncated: boolean;
  recursionDesired: boolean;
  recursionAvailable: boolean;
  /** The AD flag. In an answer of a validating resolver: DNSSEC proves all its records, or their absence. */
  authenticData: boolean;
  checkingDisabled: boolean;
  /** Includes the upper bits from EDNS, if the message has it. */
  rcode: number;
  questions: Question[];
  answers: ResourceRecord[];
  authorities: ResourceRecord[];
  additionals: ResourceRecord[];
  edns?: Edns;
};

export function typeCodeOf(record: ResourceRecord): number {
  return record.type === "OTHER" ? record.typeCode : typeCodes[record.type];
}

/** A query for one name, ready to be encoded. */
export function queryMessage(input: {
  id: number;
  name: string;
  typeCode: number;
  recursion: boolean;
  edns: boolean;
  /** Sets the DO flag, which asks for the result of the DNSSEC validation. */
  dnssecOk?: boolean;
}): DnsMessage {
  return {
    id: input.id,
    response: false,
    opcode: 0,
    authoritative: false,
    truncated: false,
    recursionDesired: input.recursion,
    recursionAvailable: false,
    authenticData: false,
    checkingDisabled: false,
    rcode: rcodes.NOERROR,
    questions: [{ name: input.name, typeCode: input.typeCode, classCode: classIn }],
    answers: [],
    authorities: [],
    additionals: [],
    ...(input.edns ? { edns: { udpBytes: safeUdpBytes, version: 0, dnssecOk: input.dnssecOk ?? false } } : {}),
  };
}
