/** Sends one query to one server: over UDP first, over TCP if the answer is truncated, and without EDNS if the server does not
 * support it. Called by resolver.ts and authoritative.ts. */
import { randomInt } from "node:crypto";
import { type Message, type Question, queryMessage, rcodes } from "./message.ts";
import { headerBytes, readMessage } from "./message-read.ts";
import { writeMessage } from "./message-write.ts";
import { MalformedMessage } from "./name-codec.ts";
import type { ServerAddress } from "./servers.ts";
import { exchangeTcp } from "./transport-tcp.ts";
import { exchangeUdp, type TransportResult } from "./transport-udp.ts";

export type ExchangeResult = TransportResult<Message> | { kind: "malformed" };

export type ExchangeInput = {
  server: ServerAddress;
  name: string;
  typeCode: number;
  /** The RD flag: true for a recursive resolver, false for an authoritative server. */
  recursion: boolean;
  /** Sends the name in random case and requires the same case in the answer. A forger has more to guess; some servers fail. */
  mixCase?: boolean;
  timeoutMs: number;
  signal: AbortSignal;
};

export async function exchange(input: ExchangeInput): Promise<ExchangeResult> {
  const first = await attempt(input, true);
  if (first.kind !== "reply") return first;
  // RFC 6891 §7: a server without EDNS support answers FORMERR or NOTIMP, without an OPT record.
  const { rcode, edns } = first.reply;
  if (edns === undefined && (rcode === rcodes.FORMERR || rcode === rcodes.NOTIMP)) return attempt(input, false);
  return first;
}

async function attempt(input: ExchangeInput, edns: boolean): Promise<ExchangeResult> {
  const name = input.mixCase === true ? randomCase(input.name) : input.name;
  const ask = async (send: typeof exchangeUdp): Promise<ExchangeResult> => {
    const id = randomInt(0x10000);
    const message = queryMessage({ id, name, typeCode: input.typeCode, recursion: input.recursion, edns });
    const accept = acceptFor(message.questions[0]!, id, input.mixCase === true);
    const { server, timeoutMs, signal } = input;
    const result = await send({ server, query: writeMessage(message), accept, timeoutMs, signal });
    if (result.kind !== "reply") return result;
    return result.reply === "malformed" ? { kind: "malformed" } : { kind: "reply", reply: result.reply };
  };
  const overUdp = await ask(exchangeUdp);
  return overUdp.kind === "reply" && overUdp.reply.truncated ? ask(exchangeTcp) : overUdp;
}

/** RFC 5452 §9.1: an answer must match the id and the question. The socket has already matched the address. */
function acceptFor(
  question: Question,
  id: number,
  exactCase: boolean,
): (reply: Buffer) => Message | "malformed" | undefined {
  const normalize = (name: string): string => (exactCase ? name : name.toLowerCase());
  return (reply) => {
    if (reply.length < headerBytes || reply.readUInt16BE(0) !== id || (reply[2]! & 0x80) === 0) return undefined;
    let message: Message;
    try {
      message = readMessage(reply);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      return "malformed";
    }
    const [echoed, ...more] = message.questions;
    // A server that cannot parse the question may omit it from its error.
    if (echoed === undefined) return message.rcode === rcodes.NOERROR ? undefined : message;
    const matches =
      more.length === 0 &&
      normalize(echoed.name) === normalize(question.name) &&
      echoed.typeCode === question.typeCode &&
      echoed.classCode === question.classCode;
    return matches ? message : undefined;
  };
}

function randomCase(name: string): string {
  return name.replace(/[a-z]/gi, (letter) => (randomInt(2) === 0 ? letter.toLowerCase() : letter.toUpperCase()));
}
