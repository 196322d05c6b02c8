/** One mail transaction on an open session: MAIL, one RCPT per recipient, DATA, the final dot. Each recipient gets its own evidence. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { BareLineEnd, BodyEncoder, bodyPieces, checkPrefix } from "./body.ts";
import { type SmtpConnection, SmtpConnectionError } from "./connection.ts";
import {
  envelopeCommands,
  type Message,
  type MessageData,
  messageBytes,
  type StreamedMessage,
  screen,
  screenSize,
} from "./envelope.ts";
import type { Evidence, Phase, Reply } from "./evidence.ts";
import { type Extensions, refusal } from "./greet.ts";
import type { Progress } from "./progress.ts";
import type { Timeouts } from "./target.ts";

export interface TransactionEvidence {
  /** One entry per recipient, in the order of the message's recipients. */
  evidence: Evidence[];
  stage: Phase;
  /** The server still has this envelope: RSET must clear it before the next MAIL. */
  needsReset: boolean;
}

type Context = {
  connection: SmtpConnection;
  extensions: Extensions;
  timeouts: Timeouts;
  message: Message;
  progress?: Progress;
  resetFirst: boolean;
};

export async function transact(context: Context): Promise<TransactionEvidence> {
  const evidence = screen(context.message, context.extensions);
  const transaction = new Transaction(context, evidence);
  if (evidence.some((unsendable) => unsendable === undefined)) await transaction.run();
  return transaction.result();
}

/** Ends the transaction. Every recipient without an answer of its own gets this evidence. */
class Ended extends Error {
  readonly evidence: Evidence;
  constructor(evidence: Evidence) {
    super(evidence.kind);
    this.evidence = evidence;
  }
}

class Transaction {
  readonly #context: Context;
  readonly #evidence: (Evidence | undefined)[];
  /** Positions of the recipients that the client sends to the server. */
  readonly #offered: readonly number[];
  #stage: Phase = "mail";
  #needsReset = false;

  constructor(context: Context, evidence: (Evidence | undefined)[]) {
    this.#context = context;
    this.#evidence = evidence;
    this.#offered = [...evidence.keys()].filter((position) => evidence[position] === undefined);
    this.#enter("mail");
  }

  #enter(stage: Phase): void {
    this.#stage = stage;
    this.#context.progress?.enter(stage);
  }

  async run(): Promise<void> {
    try {
      // Unread replies on a closed connection belong to the previous transaction.
      if (this.#context.connection.failure) throw new SmtpConnectionError(this.#context.connection.failure);
      if (await this.#envelope()) this.#settleRest({ kind: "accepted", reply: await this.#body() });
    } catch (error) {
      this.#settleRest(this.#explain(error));
    }
  }

  result(): TransactionEvidence {
    return { evidence: this.#evidence as Evidence[], stage: this.#stage, needsReset: this.#needsReset };
  }

  /** Returns true when the server waits for the message. */
  async #envelope(): Promise<boolean> {
    const { message, extensions, timeouts, connection, resetFirst } = this.#context;
    const addresses = this.#offered.map((position) => message.recipients[position] as string);
    const [mail = "", ...rcpts] = envelopeCommands(message, addresses, extensions);
    // RFC 2920 §3.1: one write for MAIL, RCPT and DATA saves a round trip per command.
    const pipelined = extensions.has("PIPELINING");
    if (pipelined) connection.command(...(resetFirst ? ["RSET"] : []), mail, ...rcpts, "DATA");
    const exchange = (line: string, timeoutMs: number) => {
      if (!pipelined) connection.command(line);
      return this.#reply(timeoutMs);
    };

    if (resetFirst && (await exchange("RSET", timeouts.mailMs)).code !== 250) {
      throw new SmtpConnectionError({ kind: "lost", code: "RSET", message: "the server refused RSET" });
    }
    const mailReply = await exchange(mail, timeouts.mailMs);
    const mailAccepted = isPositive(mailReply);
    this.#needsReset = mailAccepted;
    if (!mailAccepted) {
      this.#settleRest(this.#refusal("mail", mailReply));
      if (!pipelined) return false;
    }

    if (mailAccepted) this.#enter("rcpt");
    let accepted = 0;
    for (const [index, rcpt] of rcpts.entries()) {
      const reply = await exchange(rcpt, timeouts.rcptMs);
      // RFC 5321 §3.3: 250, 251 and 252 all accept the recipient.
      if (mailAccepted && isPositive(reply)) accepted += 1;
      else if (mailAccepted) this.#settle(this.#offered[index] as number, this.#refusal("rcpt", reply));
    }
    if (accepted === 0 && !pipelined) return false;

    if (accepted > 0) this.#enter("data");
    const dataReply = await exchange("DATA", timeouts.dataMs);
    if (accepted > 0 && dataReply.code !== 354) throw new Ended(this.#refusal("data", dataReply));
    if (accepted === 0 && dataReply.code === 354) await this.#endEmpty(mailAccepted);
    return accepted > 0;
  }

  /** RFC 2920 §3.1: when DATA is accepted without a recipient, the client ends it with a lone dot. Without a sender it disconnects. */
  async #endEmpty(mailAccepted: boolean): Promise<void> {
    const { connection, timeouts } = this.#context;
    if (!mailAccepted)
      return connection.fail({ kind: "protocol", message: "the server accepted DATA without a sender" });
    connection.command(".");
    await this.#reply(timeouts.dotMs);
    this.#needsReset = false;
  }

  /** Sends the message and returns the reply that accepted it. */
  async #body(): Promise<Reply> {
    const { connection, timeouts } = this.#context;
    const early = await this.#sendPieces();
    if (early) return this.#answeredEarly(early);
    const reply = await connection.read(timeouts.dotMs);
    if (reply.code >= 300 && reply.code < 400) throw new Ended(this.#refusal("after-dot", reply));
    this.#enter("dot");
    this.#needsReset = false;
    if (reply.code === 421) this.#closedBy(reply);
    if (!isPositive(reply)) throw new Ended(this.#refusal("dot", reply));
    return reply;
  }

  /** Returns the server's reply if it came before the final dot. The message is out of scope when the wait for the final reply begins. */
  async #sendPieces(): Promise<Reply | undefined> {
    const { connection, timeouts, progress } = this.#context;
    const data = await this.#loadData();
    connection.startBody();
    if (progress) progress.step = "body";
    if (!Buffer.isBuffer(data)) return await this.#sendStream(data);
    for (const piece of bodyPieces(data, this.#context.message.prefix)) {
      if (connection.hasUnreadReply) return await this.#reply(timeouts.dotMs);
      if (connection.failure) throw new SmtpConnectionError(connection.failure);
      if (piece.last) {
        // From here until its reply, the client cannot know whether the server has read the final dot.
        this.#enter("after-dot");
        progress?.onDot?.();
      }
      const flushed = connection.body(piece.bytes);
      if (piece.last) break;
      if (!flushed) await connection.drain(timeouts.bodyMs);
      // Yield after each piece: when the kernel takes every write at once, this loop would block the event loop.
      await nextTurn();
    }
    return undefined;
  }

  /** As above, for a message that is read meanwhile. The final dot is sent only when all of it was read: if the read fails, `run` closes the
   * connection, so the server cannot take the beginning for the whole message. */
  async #sendStream(data: StreamedMessage): Promise<Reply | undefined> {
    const { connection, message, timeouts, progress } = this.#context;
    const { prefix = "" } = message;
    checkPrefix(prefix);
    const encoder = new BodyEncoder();
    let sent = 0;
    if (prefix !== "") connection.body(Buffer.from(prefix, "latin1"));
    for await (const { bytes, isPlain } of data.read()) {
      if (connection.hasUnreadReply) return await this.#reply(timeouts.dotMs);
      sent += bytes.length;
      if (sent > data.length) break;
      if (progress) progress.step = "body";
      await connection.flush(isPlain ? encoder.plain(bytes) : encoder.encode(bytes), timeouts.bodyMs);
      await nextTurn();
    }
    if (sent !== data.length) throw new Error(`a message of ${data.length} octets was read as ${sent} octets`);
    if (connection.hasUnreadReply) return await this.#reply(timeouts.dotMs);
    if (connection.failure) throw new SmtpConnectionError(connection.failure);
    const end = encoder.end();
    this.#enter("after-dot");
    progress?.onDot?.();
    connection.body(Buffer.from(end, "latin1"));
    return undefined;
  }

  /** DATA can only be canceled by closing the connection, which is done when the message cannot be composed or is too large. */
  async #loadData(): Promise<MessageData> {
    const { connection, message, extensions } = this.#context;
    if (!("load" in message.data)) return message.data;
    const data = await message.data.load().catch((error) => {
      connection.fail({ kind: "aborted", message: "the message could not be composed" });
      throw error;
    });
    const tooLarge = screenSize(messageBytes(message, data.length) ?? 0, extensions);
    if (!tooLarge) return data;
    connection.fail({ kind: "aborted", message: "the message is too large" });
    throw new Ended(tooLarge);
  }

  /** The server refused in the middle of the message. It may read the rest as commands, so the client closes the connection. */
  #answeredEarly(reply: Reply): never {
    this.#context.connection.fail({
      kind: "lost",
      code: "EARLY",
      message: `the server answered in the middle of the message: ${reply.line}`,
    });
    throw new Ended(refusal("data", reply));
  }

  /** After a protocol error, replies no longer match commands, so the client closes the connection. */
  #refusal(phase: Phase, reply: Reply): Evidence {
    const evidence = refusal(phase, reply);
    if (evidence.kind !== "protocol") return evidence;
    this.#context.connection.fail({ kind: "protocol", message: evidence.message });
    throw new Ended(evidence);
  }

  async #reply(timeoutMs: number): Promise<Reply> {
    const reply = await this.#context.connection.read(timeoutMs);
    // RFC 5321 §3.8: after 421 the server closes the connection and sends no further replies.
    if (reply.code === 421) {
      this.#closedBy(reply);
      throw new Ended(refusal(this.#stage, reply));
    }
    return reply;
  }

  #closedBy(reply: Reply): void {
    this.#context.connection.fail({ kind: "lost", code: "421", message: reply.line });
  }

  #settle(position: number, evidence: Evidence): void {
    this.#evidence[position] ??= evidence;
  }

  #settleRest(evidence: Evidence): void {
    for (const position of this.#offered) this.#settle(position, evidence);
  }

  #explain(error: unknown): Evidence {
    const { connection } = this.#context;
    if (error instanceof Ended) return error.evidence;
    if (error instanceof BareLineEnd) {
      connection.fail({ kind: "aborted", message: error.message });
      this.#enter("data");
      return { kind: "unsendable", reason: "bad-message", message: error.message };
    }
    if (!(error instanceof SmtpConnectionError)) {
      connection.fail({ kind: "aborted", message: String(error) });
      throw error;
    }
    connection.fail(error.failure);
    return { ...error.failure, phase: this.#stage };
  }
}

function isPositive(reply: Reply): boolean {
  return reply.code < 300;
}
