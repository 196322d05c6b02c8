/** Sends one query to one server: over UDP first, over TCP if the answer is truncated or does not repeat the name's case, and without
 * EDNS if the server does not support it. Called by resolver.ts and authoritative.ts. */
import { randomInt } from "node:crypto";
import { type DnsMessage, type Question, queryMessage, rcodes } from "./message.ts";
import { headerBytes, readDnsMessage } from "./message-read.ts";
import { writeMessage } from "./message-write.ts";
import { MalformedMessage } from "./name-codec.ts";
import type { ServerAddress } from "./servers.ts";
import { exchangeTcp } from "./transport-tcp.ts";
import { exchangeUdp, type QueryResult } from "./transport-udp.ts";

export type ExchangeResult = QueryResult<DnsMessage> | { kind: "malformed" };

export type ExchangeInput = {
  server: ServerAddress;
  name: string;
  typeCode: number;
  /** The RD flag: true for a recursive resolver, false for an authoritative server. */
  recursion: boolean;
  /** Asks for the result of the DNSSEC validation, which needs EDNS. */
  dnssec?: boolean;
  timeoutMs: number;
  signal: AbortSignal;
};

export async function exchange(input: ExchangeInput): Promise<ExchangeResult> {
  const first = await attempt(input, true);
  if (first.kind !== "reply") return first;
  // RFC 6891 §7: a server without EDNS support answers FORMERR or NOTIMP, without an OPT record.
  const { rcode, edns } = first.reply;
  if (input.dnssec) return first;
  if (edns === undefined && (rcode === rcodes.FORMERR || rcode === rcodes.NOTIMP)) return attempt(input, false);
  return first;
}

/** What a datagram or a TCP message is. `other case`: it answers the question, but not in the case that was sent. `cut off`: its TC flag
 * explains why it ends too early. */
type Judged = DnsMessage | "malformed" | "other case" | "cut off";

async function attempt(input: ExchangeInput, edns: boolean): Promise<ExchangeResult> {
  // Over UDP the name is sent in random case, which a forger must guess in addition to the id and the port.
  const overUdp = await ask(input, { edns, name: randomCase(input.name), send: exchangeUdp, exactCase: true });
  const reply = overUdp.kind === "reply" ? overUdp.reply : undefined;
  // RFC 2181 §9: ignore a truncated answer and ask over TCP.
  const isTruncated = reply === "cut off" || (typeof reply === "object" && reply.truncated);
  if (reply !== "other case" && !isTruncated) return withoutJudgment(overUdp);
  // Another case is a forgery or a server that changes the case. A forger cannot answer on a TCP connection, so TCP tells them apart.
  return withoutJudgment(await ask(input, { edns, name: input.name, send: exchangeTcp, exactCase: false }));
}

async function ask(
  input: ExchangeInput,
  query: { edns: boolean; name: string; send: typeof exchangeUdp; exactCase: boolean },
): Promise<QueryResult<Judged>> {
  const { server, typeCode, recursion, timeoutMs, signal } = input;
  const id = randomInt(0x10000);
  const dnssecOk = input.dnssec;
  const message = queryMessage({ id, name: query.name, typeCode, recursion, edns: query.edns, dnssecOk });
  const accept = acceptFor(message.questions[0]!, id, query.exactCase);
  return await query.send({ server, query: writeMessage(message), accept, timeoutMs, signal });
}

function withoutJudgment(result: QueryResult<Judged>): ExchangeResult {
  if (result.kind !== "reply") return result;
  return typeof result.reply === "object" ? { kind: "reply", reply: result.reply } : { kind: "malformed" };
}

/** RFC 5452 §9.1: an answer must match the id and the question. The socket has already matched the address. */
function acceptFor(question: Question, id: number, exactCase: boolean): (reply: Buffer) => Judged | undefined {
  return (reply) => {
    if (reply.length < headerBytes || reply.readUInt16BE(0) !== id || (reply[2]! & 0x80) === 0) return undefined;
    let message: DnsMessage;
    try {
      message = readDnsMessage(reply);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return (reply[2]! & 0x02) === 0 ? "malformed" : "cut off";
    }
    const [echoed, ...more] = message.questions;
    if (echoed === undefined) return mayOmitQuestion.has(message.rcode) ? message : undefined;
    const matches =
      more.length === 0 &&
      echoed.name.toLowerCase() === question.name.toLowerCase() &&
      echoed.typeCode === question.typeCode &&
      echoed.classCode === question.classCode;
    if (!matches) return undefined;
    return exactCase && echoed.name !== question.name ? "other case" : message;
  };
}

/** A server that cannot parse or does not answer the question may omit it from its error. NXDOMAIN is an answer: without the question, a
 * forger would not have to guess its case. */
const mayOmitQuestion: ReadonlySet<number> = new Set([rcodes.FORMERR, rcodes.NOTIMP, rcodes.SERVFAIL, rcodes.REFUSED]);

function randomCase(name: string): string {
  return name.replace(/[a-z]/gi, (letter) => (randomInt(2) === 0 ? letter.toLowerCase() : letter.toUpperCase()));
}
