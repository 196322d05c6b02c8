/** DNS messages as values, with the numbers of the protocol; `message-read.ts` and `message-write.ts` turn them from and to bytes. */
import type { ResourceRecord } from "../mail/dns-record.ts";

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

/** RFC 9715 §3.1: the largest answer that travels without fragments. */
export const safeUdpBytes = 1232;
/** RFC 1035 §4.2.1: what a client without EDNS can take. */
export const plainUdpBytes = 512;

/** What the two bytes of length before a message over TCP can say. */
export const largestMessage = 65_535;

export type Question = { name: string; typeCode: number; classCode: number };

export type Edns = { udpBytes: number; version: number; dnssecOk: boolean };

export type Message = {
  id: number;
  response: boolean;
  opcode: number;
  authoritative: boolean;
  truncated: boolean;
  recursionDesired: boolean;
  recursionAvailable: boolean;
  checkingDisabled: boolean;
  /** With the upper bits of EDNS, where there is one. */
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

/** A question for one name, ready to be written. */
export function queryMessage(input: {
  id: number;
  name: string;
  typeCode: number;
  recursion: boolean;
  edns: boolean;
}): Message {
  return {
    id: input.id,
    response: false,
    opcode: 0,
    authoritative: false,
    truncated: false,
    recursionDesired: input.recursion,
    recursionAvailable: false,
    checkingDisabled: false,
    rcode: rcodes.NOERROR,
    questions: [{ name: input.name, typeCode: input.typeCode, classCode: classIn }],
    answers: [],
    authorities: [],
    additionals: [],
    ...(input.edns ? { edns: { udpBytes: safeUdpBytes, version: 0, dnssecOk: false } } : {}),
  };
}
