/** One API call as a handler sees it: its caller, deadline, cancellation and request id, and the type of handlers. Imports no Connect, so
 * that commands can call handlers without HTTP. Used by router.ts, unary-json.ts and every service. */
import type { DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Problem } from "../ops/problem.ts";
import { type CallScope, inCallScope } from "../postgres/call-scope.ts";
import { isDatabaseAway, OutcomeUnknown, unavailable } from "../postgres/outage.ts";
import { ownerOf } from "./call-shares.ts";
import type { Caller } from "./caller.ts";
import type { StreamOutput } from "./stream-output.ts";

export type Call = {
  caller: Caller;
  requestId: string;
  cancellation: Cancellation;
  /** Milliseconds left until the caller's own deadline, if it set one. */
  timeLeftMs(): number | undefined;
  header(name: string): string | undefined;
  /**
   * A handler calls this right before its first statement that writes. Until that statement is sent, a passed deadline answers
   * `deadline_exceeded` and nothing is stored. Afterwards the call waits for the commit and answers with its result.
   */
  beginWrite(): void;
  /**
   * Set for a unary call over HTTP. A handler with a large answer calls it before it loads the content, with the memory that this takes.
   * Waits for the share of the workspace, and throws `resource_exhausted` when that takes too long.
   */
  reserveAnswer?(bytes: number): Promise<void>;
  /** Set for a stream over HTTP: takes messages that the handler has encoded itself. */
  output?: StreamOutput;
};

/** Runs a handler until it answers or the call is canceled. Once its write is sent, cancellation no longer ends the wait. */
export function withinDeadline<T>(call: Omit<Call, "beginWrite">, work: (call: Call) => Promise<T>): Promise<T> {
  const { caller, requestId, cancellation, timeLeftMs, header, reserveAnswer } = call;
  requireNotCanceled(cancellation);
  let announced = false;
  let sent = false;
  const scope: CallScope = {
    owner: ownerOf(caller),
    committed: 0,
    timeLeftMs,
    check() {
      if (announced && !sent) requireNotCanceled(cancellation);
    },
    sent() {
      sent = announced;
    },
  };
  const beginWrite = () => {
    if (!sent) requireNotCanceled(cancellation);
    announced = true;
  };
  const running = inCallScope(scope, () =>
    work({ caller, requestId, cancellation, timeLeftMs, header, beginWrite, reserveAnswer }).catch((error) => {
      throw announced ? afterWrite(error, scope) : beforeWrite(error);
    }),
  );
  return unlessCanceled(cancellation, running, () => sent);
}

/** An outage between two writes of a call: its first writes are stored. */
function afterWrite(error: unknown, { committed }: CallScope): unknown {
  const cut = committed > 0 && isDatabaseAway(error) && !(error instanceof OutcomeUnknown);
  return cut ? unavailable(error, { partlyStored: true }) : error;
}

/** A call that reads may write for the service itself, such as a lease. The caller has no doubt about that. */
function beforeWrite(error: unknown): unknown {
  return error instanceof OutcomeUnknown ? error.cause : error;
}

function requireNotCanceled(cancellation: Cancellation): void {
  const reason = cancellation.reason();
  if (reason) throw reason;
}

/** Cancels a call when its deadline passes or its caller disconnects before the answer. */
export type Cancellation = {
  /** Why the call was canceled; undefined while it was not. Compares the deadline with the clock, because a busy process fires timers late. */
  reason(): Problem | undefined;
  /** Calls the listener on cancellation. Returns a function that unsubscribes. */
  onCancel(listener: () => void): () => void;
  /** For functions that take an AbortSignal. */
  readonly signal: AbortSignal;
};

export type CancelCause = "deadline passed" | "caller left";

/** The cancellation of a call in unary-json.ts. Cheaper than an AbortController, which it creates only when `signal` is read. */
export class CallCancellation implements Cancellation {
  #ended: CancelCause | undefined;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;
  readonly #deadlineMs: number;

  /** The deadline as a value of performance.now(). */
  constructor(deadlineMs = Number.POSITIVE_INFINITY) {
    this.#deadlineMs = deadlineMs;
  }

  reason(): Problem | undefined {
    if (!this.#ended && performance.now() >= this.#deadlineMs) this.end("deadline passed");
    return this.#ended && problemOf(this.#ended);
  }

  onCancel(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended) this.#controller.abort(problemOf(this.#ended));
    return this.#controller.signal;
  }

  end(why: CancelCause): void {
    if (this.#ended) return;
    this.#ended = why;
    this.#controller?.abort(problemOf(why));
    for (const listener of this.#listeners) listener();
  }
}

/** The cancellation of a call that Connect serves. Connect aborts with code 4 for a passed deadline. */
export function cancellationOf(signal: AbortSignal, deadlineMs = Number.POSITIVE_INFINITY): Cancellation {
  const why = (): CancelCause | undefined => {
    if (!signal.aborted) return performance.now() >= deadlineMs ? "deadline passed" : undefined;
    return (signal.reason as { code?: unknown } | undefined)?.code === 4 ? "deadline passed" : "caller left";
  };
  return {
    reason() {
      const cause = why();
      return cause && problemOf(cause);
    },
    onCancel(listener) {
      signal.addEventListener("abort", listener, { once: true });
      return () => signal.removeEventListener("abort", listener);
    },
    signal,
  };
}

/** The result of the work, or the reason of the cancellation if that comes first. While `always()` is true, cancellation is ignored. */
export function unlessCanceled<T>(cancellation: Cancellation, work: Promise<T>, always = () => false): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      const reason = cancellation.reason();
      if (reason && !always()) reject(reason);
    };
    const unsubscribe = cancellation.onCancel(giveUp);
    giveUp();
    work.then(
      (answer) => {
        unsubscribe();
        resolve(answer);
      },
      (error) => {
        unsubscribe();
        reject(error);
      },
    );
  });
}

/** Also the error of a call whose body has not arrived by then. */
export function deadlinePassed(): Problem {
  return new Problem(
    "deadline_exceeded",
    "The deadline passed before the call was carried out; nothing was changed. Set a longer deadline.",
  );
}

function problemOf(why: CancelCause): Problem {
  if (why === "deadline passed") return deadlinePassed();
  return new Problem("canceled", "The call was canceled by its caller; nothing was changed.");
}

/** The handlers of a service, called by the router or by a command of the CLI. */
export type Handlers<S extends DescService> = {
  [K in keyof S["method"]]?: S["method"][K] extends { methodKind: "server_streaming" }
    ? (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => AsyncIterable<MessageInitShape<S["method"][K]["output"]>>
    : (
        request: MessageShape<S["method"][K]["input"]>,
        call: Call,
      ) => Promise<MessageInitShape<S["method"][K]["output"]>>;
};

/** A service of the contract and its handlers. Methods without a handler answer `unimplemented`. */
export type ServiceEntry = { service: DescService; handlers: Record<string, unknown> };

export function serve<S extends DescService>(service: S, handlers: Handlers<S>): ServiceEntry {
  return { service, handlers: handlers as Record<string, unknown> };
}
