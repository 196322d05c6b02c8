/** One mail transaction on an open session: MAIL, RCPT for each, DATA, the final dot; each recipient ends with its own evidence. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Evidence, Phase, Reply } from "../rules/outcome-evidence.ts";
import { BareLineEnd, bodyPieces } from "./body.ts";
import { envelopeCommands, type Message, screen } from "./envelope.ts";
import { type Extensions, refusal } from "./greet.ts";
import type { Timeouts } from "./timeouts.ts";
import { type Wire, WireError } from "./wire.ts";

export interface Course {
  /** One for each recipient of the message, in its order. */
  evidence: Evidence[];
  stage: Phase;
  /** The server still holds an envelope that RSET must clear before the next MAIL. */
  unfinished: boolean;
}

type Context = { wire: Wire; extensions: Extensions; timeouts: Timeouts; message: Message; resetFirst: boolean };

export async function transact(context: Context): Promise<Course> {
  const evidence = screen(context.message, context.extensions);
  const course = new Transaction(context, evidence);
  if (evidence.some((known) => known === undefined)) await course.run();
  return course.result();
}

/** A reply that ends the whole transaction, for every recipient that has no answer of its own yet. */
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
  /** Positions of the recipients offered to the server. */
  readonly #offered: readonly number[];
  #stage: Phase = "mail";
  #unfinished = false;

  constructor(context: Context, evidence: (Evidence | undefined)[]) {
    this.#context = context;
    this.#evidence = evidence;
    this.#offered = [...evidence.keys()].filter((position) => evidence[position] === undefined);
  }

  async run(): Promise<void> {
    try {
      // Replies that an ended connection still held belong to the transaction before.
      if (this.#context.wire.failure) throw new WireError(this.#context.wire.failure);
      if (await this.#envelope()) this.#settleRest({ kind: "accepted", reply: await this.#body() });
    } catch (error) {
      this.#settleRest(this.#explain(error));
    }
  }

  result(): Course {
    return { evidence: this.#evidence as Evidence[], stage: this.#stage, unfinished: this.#unfinished };
  }

  /** True when the server waits for the message. */
  async #envelope(): Promise<boolean> {
    const { message, extensions, timeouts, wire, resetFirst } = this.#context;
    const addresses = this.#offered.map((position) => message.recipients[position] as string);
    const [mail = "", ...rcpts] = envelopeCommands(message, addresses, extensions);
    // RFC 2920 §3.1: MAIL, RCPT and DATA travel together, which saves a round trip for each of them.
    const pipelined = extensions.has("PIPELINING");
    if (pipelined) wire.command(...(resetFirst ? ["RSET"] : []), mail, ...rcpts, "DATA");
    const ask = (line: string, timeoutMs: number) => {
      if (!pipelined) wire.command(line);
      return this.#reply(timeoutMs);
    };

    if (resetFirst && (await ask("RSET", timeouts.mailMs)).code !== 250) {
      throw new WireError({ kind: "lost", code: "RSET", message: "the server refused RSET" });
    }
    const mailReply = await ask(mail, timeouts.mailMs);
    const mailTaken = isPositive(mailReply);
    this.#unfinished = mailTaken;
    if (!mailTaken) {
      this.#settleRest(this.#refusal("mail", mailReply));
      if (!pipelined) return false;
    }

    if (mailTaken) this.#stage = "rcpt";
    let taken = 0;
    for (const [index, rcpt] of rcpts.entries()) {
      const reply = await ask(rcpt, timeouts.rcptMs);
      // RFC 5321 §3.3: 250, 251 and 252 all take the recipient.
      if (mailTaken && isPositive(reply)) taken += 1;
      else if (mailTaken) this.#settle(this.#offered[index] as number, this.#refusal("rcpt", reply));
    }
    if (taken === 0 && !pipelined) return false;

    if (taken > 0) this.#stage = "data";
    const dataReply = await ask("DATA", timeouts.dataMs);
    if (taken > 0 && dataReply.code !== 354) throw new Ended(this.#refusal("data", dataReply));
    if (taken === 0 && dataReply.code === 354) await this.#endEmpty(mailTaken);
    return taken > 0;
  }

  /** RFC 2920 §3.1: DATA taken with no recipient is ended by a lone dot. Without a sender either, the server is not trusted with it. */
  async #endEmpty(mailTaken: boolean): Promise<void> {
    const { wire, timeouts } = this.#context;
    if (!mailTaken) return wire.fail({ kind: "protocol", message: "DATA was taken without a sender" });
    wire.command(".");
    await this.#reply(timeouts.dotMs);
    this.#unfinished = false;
  }

  /** The reply to the final dot, which took the message. */
  async #body(): Promise<Reply> {
    const { wire, message, timeouts } = this.#context;
    wire.startBody();
    for (const piece of bodyPieces(message.data)) {
      if (wire.replied) return this.#early(await this.#reply(timeouts.dotMs));
      if (wire.failure) throw new WireError(wire.failure);
      // From here on nobody can know what the server has read, until it says so.
      if (piece.last) this.#stage = "after-dot";
      const room = wire.body(piece.bytes);
      if (piece.last) break;
      if (!room) await wire.drain(timeouts.bodyMs);
      // A kernel that takes every piece at once would otherwise keep the event loop from everybody else.
      await nextTurn();
    }
    const reply = await wire.read(timeouts.dotMs);
    if (reply.code >= 300 && reply.code < 400) throw new Ended(this.#refusal("after-dot", reply));
    this.#stage = "dot";
    this.#unfinished = false;
    if (reply.code === 421) this.#closing(reply);
    if (!isPositive(reply)) throw new Ended(this.#refusal("dot", reply));
    return reply;
  }

  /** The server has refused in the middle of the message: the two sides are out of step, so the connection ends with it. */
  #early(reply: Reply): never {
    this.#context.wire.fail({ kind: "lost", code: "EARLY", message: `the server answered inside DATA: ${reply.line}` });
    throw new Ended(refusal("data", reply));
  }

  /** A reply that makes no sense leaves the two sides out of step: the connection ends with it. */
  #refusal(phase: Phase, reply: Reply): Evidence {
    const evidence = refusal(phase, reply);
    if (evidence.kind !== "protocol") return evidence;
    this.#context.wire.fail({ kind: "protocol", message: evidence.message });
    throw new Ended(evidence);
  }

  async #reply(timeoutMs: number): Promise<Reply> {
    const reply = await this.#context.wire.read(timeoutMs);
    // RFC 5321 §3.8: after 421 the server closes; what it still owes us will not come.
    if (reply.code === 421) {
      this.#closing(reply);
      throw new Ended(refusal(this.#stage, reply));
    }
    return reply;
  }

  #closing(reply: Reply): void {
    this.#context.wire.fail({ kind: "lost", code: "421", message: reply.line });
  }

  #settle(position: number, evidence: Evidence): void {
    this.#evidence[position] ??= evidence;
  }

  #settleRest(evidence: Evidence): void {
    for (const position of this.#offered) this.#settle(position, evidence);
  }

  #explain(error: unknown): Evidence {
    const { wire } = this.#context;
    if (error instanceof Ended) return error.evidence;
    if (error instanceof BareLineEnd) {
      wire.fail({ kind: "aborted", message: error.message });
      this.#stage = "data";
      return { kind: "unsendable", reason: "bad-message", message: error.message };
    }
    if (!(error instanceof WireError)) {
      wire.fail({ kind: "aborted", message: String(error) });
      throw error;
    }
    wire.fail(error.failure);
    return { ...error.failure, phase: this.#stage };
  }
}

function isPositive(reply: Reply): boolean {
  return reply.code < 300;
}
