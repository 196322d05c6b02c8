/** The channel of a process to its supervisor. Used by child.ts. */
import type { TokenGrant, TokenSource } from "../../shares/leased-tokens.ts";
import type { FromProcess, ProcessAnswers, SupervisorAnswers, ToProcess } from "./messages.ts";
import { createQuestions } from "./questions.ts";
import type { RawConnection } from "./spread.ts";

type Of<K extends ToProcess["kind"]> = Extract<ToProcess, { kind: K }>;
type Handlers = {
  [K in Exclude<ToProcess["kind"], "ask" | "answer" | "ping" | "connection">]?: (message: Of<K>) => void;
} & {
  connection?: (message: Of<"connection">, raw: RawConnection | undefined) => void;
};
type Answerers = { [K in keyof ProcessAnswers]?: () => Promise<ProcessAnswers[K]> };

/** A scrape waits for the database at most half of this. */
const answerWithinMs = 10_000;

export type Channel = ReturnType<typeof openChannel>;

export function openChannel() {
  const questions = createQuestions();
  const handlers: Handlers = {};
  const answerers: Answerers = {};
  const send = (message: FromProcess, raw?: RawConnection, sent = () => {}) => {
    // The channel closes when the supervisor ends, and then this process ends too.
    if (process.connected) process.send!(message, raw as never, {}, sent);
    else sent();
  };

  async function answer({ id, what }: Of<"ask">): Promise<void> {
    const value = await answerers[what]?.().catch(() => undefined);
    if (value !== undefined) send({ kind: "answer", id, value });
  }

  process.on("message", (message: ToProcess, raw: unknown) => {
    if (message.kind === "answer") questions.answered(message.id, message.value);
    else if (message.kind === "ask") void answer(message);
    else if (message.kind === "ping") send({ kind: "pong" });
    // A connection that was closed on its way arrives without a socket. It counts as arrived too.
    else if (message.kind === "connection") handlers.connection?.(message, raw as RawConnection | undefined);
    else (handlers[message.kind] as ((message: ToProcess) => void) | undefined)?.(message);
  });

  const ask = <K extends keyof SupervisorAnswers>(what: K, about: { owner?: string; wanted?: number } = {}) =>
    questions.ask<SupervisorAnswers[K]>((id) => send({ kind: "ask", id, what, ...about }), answerWithinMs);

  const tokens: TokenSource = {
    lease: async (owner, wanted): Promise<TokenGrant> =>
      await ask("tokens", { owner, wanted }).catch(() => ({ granted: 0, waitMs: 1000 })),
    giveBack: (owner, given) => send({ kind: "tokens", owner, given }),
  };

  return {
    send,
    ask,
    tokens,
    on<K extends keyof Handlers>(kind: K, handle: NonNullable<Handlers[K]>): void {
      handlers[kind] = handle as Handlers[K];
    },
    answers<K extends keyof ProcessAnswers>(what: K, give: () => Promise<ProcessAnswers[K]>): void {
      answerers[what] = give as Answerers[K];
    },
  };
}
