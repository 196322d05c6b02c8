/** The SMTP client: one session with one server, many transactions. The pool opens, shares and closes sessions. */
import { type Evidence, isInDoubt, type Phase } from "../rules/outcome-evidence.ts";
import type { Message } from "./envelope.ts";
import { type Extensions, GreetError, type Greeted, greet, type TlsFacts } from "./greet.ts";
import { checkTarget, type Target } from "./target.ts";
import { defaultTimeouts, type Timeouts } from "./timeouts.ts";
import { transact } from "./transaction.ts";
import { Wire, WireError } from "./wire.ts";

export interface TransactionResult {
  /** In the order of the message's recipients, each with what the server said to it. */
  recipients: { address: string; result: Evidence }[];
  /** How far the transaction came: `dot` is its regular end. */
  stage: Phase;
  /** The server may hold the message although it never said so. */
  inDoubt: boolean;
  tls: TlsFacts | null;
  remote: { host: string; address: string; port: number };
  localAddress: string;
  /** Transactions this session had carried before this one. */
  reused: number;
}

export type Opened = { session: Session } | { failure: Evidence };

/** Resolves in every case that the network can bring about; rejects only for a target that no server could be reached with. */
export async function openSession(
  target: Target,
  options: { timeouts?: Partial<Timeouts>; signal?: AbortSignal } = {},
): Promise<Opened> {
  checkTarget(target);
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  let phase: Phase = "connect";
  let wire: Wire | undefined;
  try {
    const { address, port, localAddress } = target;
    const timeoutMs = Math.min(timeouts.connectMs, timeouts.openMs);
    wire = await Wire.connect({ host: address, port, localAddress }, timeoutMs, options.signal);
    const release = wire.bind(options.signal);
    const lift = wire.limit(timeouts.openMs);
    try {
      const greeted = await greet(wire, target, timeouts, (next) => {
        phase = next;
      });
      return { session: new Session(wire, target, timeouts, greeted) };
    } finally {
      lift();
      release();
    }
  } catch (error) {
    wire?.fail({ kind: "aborted", message: "the session did not open" });
    if (error instanceof GreetError) return { failure: error.evidence };
    if (error instanceof WireError) return { failure: { ...error.failure, phase } };
    throw error;
  }
}

export class Session {
  readonly #wire: Wire;
  readonly #timeouts: Timeouts;
  readonly #extensions: Extensions;
  readonly target: Target;
  readonly tls: TlsFacts | null;
  #transactions = 0;
  #unfinished = false;
  #busy = false;

  constructor(wire: Wire, target: Target, timeouts: Timeouts, greeted: Greeted) {
    this.#wire = wire;
    this.#timeouts = timeouts;
    this.#extensions = greeted.extensions;
    this.target = target;
    this.tls = greeted.tls;
  }

  /** False once the connection is gone, also when the server closed it while nobody was talking. */
  get usable(): boolean {
    return this.#wire.failure === undefined;
  }

  get transactions(): number {
    return this.#transactions;
  }

  /** Called once when the session becomes unusable. */
  set onDown(listener: () => void) {
    this.#wire.onDown = listener;
  }

  /** One message. Whatever happens to the connection is in the result; a second call before the first has ended is a mistake. */
  async transact(message: Message, signal?: AbortSignal): Promise<TransactionResult> {
    if (this.#busy) throw new Error("a session carries one transaction at a time");
    this.#busy = true;
    const release = this.#wire.bind(signal);
    const lift = this.#wire.limit(this.#timeouts.transactionMs);
    try {
      const course = await transact({
        wire: this.#wire,
        extensions: this.#extensions,
        timeouts: this.#timeouts,
        message,
        resetFirst: this.#unfinished,
      });
      this.#unfinished = course.unfinished;
      return this.#report(message, course.evidence, course.stage);
    } finally {
      lift();
      release();
      this.#busy = false;
      this.#transactions += 1;
    }
  }

  /** Says goodbye and closes, within the time-out for it. */
  async quit(): Promise<void> {
    if (this.usable && !this.#busy) {
      this.#wire.onDown = undefined;
      this.#wire.command("QUIT");
      await this.#wire.read(this.#timeouts.quitMs).catch(() => undefined);
    }
    this.destroy();
  }

  destroy(): void {
    this.#wire.fail({ kind: "aborted", message: "stopped by us" });
  }

  #report(message: Message, evidence: readonly Evidence[], stage: Phase): TransactionResult {
    const { host, address, port } = this.target;
    return {
      recipients: message.recipients.map((recipient, index) => ({
        address: recipient,
        result: evidence[index] as Evidence,
      })),
      stage,
      inDoubt: evidence.some(isInDoubt),
      tls: this.tls,
      remote: { host, address, port },
      localAddress: this.#wire.localAddress,
      reused: this.#transactions,
    };
  }
}
