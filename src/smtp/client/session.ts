/** One client session: an open connection to one server that carries many transactions. The pool opens, shares and closes it. */
import { SmtpConnection, SmtpConnectionError } from "./connection.ts";
import { AnchorsNeeded } from "./dane-check.ts";
import type { Message } from "./envelope.ts";
import { type Evidence, isInDoubt, type Phase } from "./evidence.ts";
import { type Extensions, GreetError, type Greeted, greet, type TlsFacts } from "./greet.ts";
import type { Progress } from "./progress.ts";
import { checkTarget, defaultTimeouts, type Target, type Timeouts } from "./target.ts";
import { transact } from "./transaction.ts";

export interface TransactionResult {
  /** One entry per recipient, in the order of the message's recipients. */
  recipients: { address: string; result: Evidence }[];
  /** How far the transaction got; `dot` when the server answered the whole message. */
  stage: Phase;
  /** The server may have the message although it did not confirm it. */
  inDoubt: boolean;
  tls: TlsFacts | null;
  remote: { host: string; address: string; port: number };
  localAddress: string;
  /** Number of earlier transactions on this session. */
  reused: number;
}

export type OpenOptions = {
  timeouts?: Partial<Timeouts>;
  /** Replaces time-outs until the session is open. */
  opening?: Partial<Timeouts>;
  signal?: AbortSignal;
  progress?: Progress;
  /** Trust anchors by the `recordsKey` of their DANE policy. A new connection needs them before its handshake. */
  anchors?: AnchorMemory;
};

export type AnchorMemory = {
  get(key: string): readonly Buffer[] | undefined;
  set(key: string, anchors: readonly Buffer[]): unknown;
};

export type OpenResult = { session: Session } | { failure: Evidence };

/** Network failures are in the result; the promise rejects only for an invalid target. */
export async function openSession(target: Target, options: OpenOptions = {}): Promise<OpenResult> {
  checkTarget(target);
  const key = target.dane?.recordsKey ?? "";
  const first = await openOnce(target, options, options.anchors?.get(key));
  if (!("needed" in first)) return first;
  options.anchors?.set(key, first.needed);
  const second = await openOnce(target, options, first.needed);
  if (!("needed" in second)) return second;
  options.anchors?.set(key, second.needed);
  const message = "DANE: the server presents other certificates at each connection";
  return { failure: { kind: "tls", phase: "tls", reply: null, message, dane: true } };
}

async function openOnce(
  target: Target,
  options: OpenOptions,
  anchors: readonly Buffer[] | undefined,
): Promise<OpenResult | { needed: readonly Buffer[] }> {
  const { signal, progress } = options;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const opening = { ...timeouts, ...options.opening };
  let phase: Phase = "connect";
  let connection: SmtpConnection | undefined;
  try {
    const { address, port, localAddress } = target;
    progress?.enter("connect");
    const timeoutMs = Math.min(opening.connectMs, opening.openMs);
    connection = await SmtpConnection.connect({ host: address, port, localAddress }, timeoutMs, { signal, progress });
    const unbind = connection.bind(signal);
    const clearDeadline = connection.setDeadline(opening.openMs);
    try {
      const greeted = await greet(connection, { ...target, anchors }, opening, (next) => {
        phase = next;
        progress?.enter(next);
      });
      connection.progress = undefined;
      return { session: new Session(connection, target, timeouts, greeted) };
    } finally {
      clearDeadline();
      unbind();
    }
  } catch (error) {
    connection?.fail({ kind: "aborted", message: "the session did not open" });
    if (error instanceof AnchorsNeeded) return { needed: error.anchors };
    if (error instanceof GreetError) return { failure: error.evidence };
    if (error instanceof SmtpConnectionError) return { failure: { ...error.failure, phase } };
    throw error;
  }
}

export class Session {
  readonly #connection: SmtpConnection;
  readonly #timeouts: Timeouts;
  readonly #extensions: Extensions;
  readonly target: Target;
  readonly tls: TlsFacts | null;
  #transactions = 0;
  #needsReset = false;
  #busy = false;

  constructor(connection: SmtpConnection, target: Target, timeouts: Timeouts, greeted: Greeted) {
    this.#connection = connection;
    this.#timeouts = timeouts;
    this.#extensions = greeted.extensions;
    this.target = target;
    this.tls = greeted.tls;
  }

  /** False once the connection is closed, also when the server closed it while the session was idle. */
  get usable(): boolean {
    return this.#connection.failure === undefined;
  }

  get transactions(): number {
    return this.#transactions;
  }

  /** Called once when the session becomes unusable. */
  set onDown(listener: () => void) {
    this.#connection.onDown = listener;
  }

  /** Sends one message. Network failures are in the result; a second call before the first has ended throws. */
  async transact(message: Message, signal?: AbortSignal, progress?: Progress): Promise<TransactionResult> {
    if (this.#busy) throw new Error("a session carries one transaction at a time");
    this.#busy = true;
    this.#connection.progress = progress;
    const unbind = this.#connection.bind(signal);
    const clearDeadline = this.#connection.setDeadline(this.#timeouts.transactionMs);
    try {
      const { evidence, stage, needsReset } = await transact({
        connection: this.#connection,
        extensions: this.#extensions,
        timeouts: this.#timeouts,
        message,
        progress,
        resetFirst: this.#needsReset,
      });
      this.#needsReset = needsReset;
      return this.#result(message, evidence, stage);
    } finally {
      clearDeadline();
      unbind();
      this.#connection.progress = undefined;
      this.#busy = false;
      this.#transactions += 1;
    }
  }

  /** Sends QUIT, waits for the reply at most `quitMs`, and closes the connection. */
  async quit(): Promise<void> {
    if (this.usable && !this.#busy) {
      this.#connection.onDown = undefined;
      this.#connection.command("QUIT");
      await this.#connection.read(this.#timeouts.quitMs).catch(() => undefined);
    }
    this.destroy();
  }

  destroy(): void {
    this.#connection.fail({ kind: "aborted", message: "aborted by Posthorn" });
  }

  #result(message: Message, evidence: readonly Evidence[], stage: Phase): TransactionResult {
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
      localAddress: this.#connection.localAddress,
      reused: this.#transactions,
    };
  }
}
