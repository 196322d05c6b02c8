/** How long a call lives: until its answer, unless its deadline passes or its caller goes away before. */
import { Problem } from "../rules/problem.ts";

export type Life = {
  /** Why the call is over before its answer; undefined while it is not. */
  over(): Problem | undefined;
  /** Calls back when that happens; gives the way to unsubscribe. */
  onOver(listener: () => void): () => void;
  /** For whatever waits by a signal. */
  readonly signal: AbortSignal;
};

export type Ending = "deadline passed" | "caller left";

/** A call's own life. Lighter than an AbortController, which is made only for those few who ask for a signal. */
export class CallLife implements Life {
  #ended: Ending | undefined;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  over(): Problem | undefined {
    return this.#ended && problemOf(this.#ended);
  }

  onOver(listener: () => void): () => void {
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

  end(why: Ending): void {
    if (this.#ended) return;
    this.#ended = why;
    this.#controller?.abort(problemOf(why));
    for (const listener of this.#listeners) listener();
  }
}

/** Connect aborts with an error of its own that tells a passed deadline (code 4) from a caller that went away. */
export function lifeOf(signal: AbortSignal): Life {
  const why = () =>
    (signal.reason as { code?: unknown } | undefined)?.code === 4 ? "deadline passed" : ("caller left" as const);
  return {
    over: () => (signal.aborted ? problemOf(why()) : undefined),
    onOver(listener) {
      signal.addEventListener("abort", listener, { once: true });
      return () => signal.removeEventListener("abort", listener);
    },
    signal,
  };
}

/** The work's own answer, or the reason why nobody waits for it any more; while `always` says so, only the former. */
export function beforeEnd<T>(life: Life, work: Promise<T>, always = () => false): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      const reason = life.over();
      if (reason && !always()) reject(reason);
    };
    const unsubscribe = life.onOver(giveUp);
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

function problemOf(why: Ending): Problem {
  if (why === "deadline passed")
    return new Problem(
      "deadline_exceeded",
      "The deadline of the call passed before it was carried out; nothing was changed. Give it more time.",
    );
  return new Problem("canceled", "The call was canceled by its caller; nothing was changed.");
}
