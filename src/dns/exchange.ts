/** Asks one server one question: UDP first, TCP when the answer was cut, without EDNS when the server does not know it. */
import { randomInt } from "node:crypto";
import { type Message, type Question, queryMessage, rcodes } from "./message.ts";
import { headerBytes, readMessage } from "./message-read.ts";
import { writeMessage } from "./message-write.ts";
import { MalformedMessage } from "./name-wire.ts";
import type { ServerAddress } from "./servers.ts";
import { exchangeTcp } from "./transport-tcp.ts";
import { type Exchanged, exchangeUdp } from "./transport-udp.ts";

export type Asked = Exchanged<Message> | { kind: "malformed" };

export type ExchangeInput = {
  server: ServerAddress;
  name: string;
  typeCode: number;
  /** RD: set for a recursive resolver, clear for an authoritative server. */
  recursion: boolean;
  /** Writes the name in mixed case and wants it back so: more that a forger must guess, but some servers fail at it. */
  mixCase?: boolean;
  timeoutMs: number;
  signal: AbortSignal;
};

export async function exchange(input: ExchangeInput): Promise<Asked> {
  const first = await attempt(input, true);
  if (first.kind !== "reply") return first;
  // RFC 6891 §7: a server that does not know EDNS answers FORMERR, or NOTIMP, without an OPT record.
  const { rcode, edns } = first.reply;
  if (edns === undefined && (rcode === rcodes.FORMERR || rcode === rcodes.NOTIMP)) return attempt(input, false);
  return first;
}

async function attempt(input: ExchangeInput, edns: boolean): Promise<Asked> {
  const name = input.mixCase === true ? mixed(input.name) : input.name;
  const ask = async (send: typeof exchangeUdp): Promise<Asked> => {
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

/** RFC 5452 §9.1: an answer is ours when id and question are; the address was matched by the socket. */
function acceptFor(
  question: Question,
  id: number,
  exactCase: boolean,
): (reply: Buffer) => Message | "malformed" | undefined {
  const written = (name: string): string => (exactCase ? name : name.toLowerCase());
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
    // A server that could not read the question may leave it out.
    if (echoed === undefined) return message.rcode === rcodes.NOERROR ? undefined : message;
    const ours =
      more.length === 0 &&
      written(echoed.name) === written(question.name) &&
      echoed.typeCode === question.typeCode &&
      echoed.classCode === question.classCode;
    return ours ? message : undefined;
  };
}

function mixed(name: string): string {
  return name.replace(/[a-z]/gi, (letter) => (randomInt(2) === 0 ? letter.toLowerCase() : letter.toUpperCase()));
}
