/** One run of a process: its start, its messages and its end. Created by slot.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { deadAfterSeconds } from "../../postgres/workers.ts";
import type { FromProcess, ProcessAnswers, SharedPort, Started, StartOrder, ToProcess } from "./messages.ts";
import { createQuestions } from "./questions.ts";
import type { RawConnection } from "./spread.ts";

/** The process could not start. The message is for the operator. */
export class ProcessFailed extends Error {
  override readonly name = "ProcessFailed";
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export type End = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The supervisor killed the process, because it no longer answered. */
  isHung?: boolean;
};

export type Run = {
  id: number;
  slot: number;
  /** In the workers table. */
  name: string;
  pid: number | undefined;
  /** Resolves when the process serves, and rejects when it has failed or ended before. */
  started: Promise<Started>;
  ended: Promise<End>;
  /** When it began to serve, by the monotonic clock. */
  servingSinceMs(): number | undefined;
  isStopping(): boolean;
  send(message: ToProcess): void;
  /** Gives the process a connection. */
  pass(port: SharedPort, raw: RawConnection): void;
  /** Connections that wait because the process has not received an earlier one yet. */
  waiting(): number;
  ask<K extends keyof ProcessAnswers>(what: K, withinMs: number): Promise<ProcessAnswers[K]>;
  /** Asks the process to finish its work and end, and kills it after the limit. `isReplaced`: another one serves its clients. */
  stop(limitMs: number, isReplaced: boolean): Promise<void>;
};

export type RunOptions = {
  order: StartOrder;
  env: NodeJS.ProcessEnv;
  /** The sockets that the process inherits. */
  fds: number[];
  onMessage(run: Run, message: FromProcess, raw: RawConnection | undefined): void;
  onEnd(run: Run, end: End): void;
  /** A connection that the process did not receive before its end. */
  onReturned(port: SharedPort, raw: RawConnection): void;
};

const program = fileURLToPath(new URL("child.ts", import.meta.url));
/** Standard input, output and error, and the channel. */
export const firstSharedDescriptor = 4;
/** Longer than any wait of a start, such as the one for the database. A process that takes longer is ended. */
const startWithinMs = 180_000;
const pingEveryMs = 5_000;
/** After this time without a heartbeat, the other processes take over the leases of the process anyway. */
const mostUnanswered = (deadAfterSeconds * 1000) / pingEveryMs;

export function startRun({ order, env, fds, onMessage, onEnd, onReturned }: RunOptions): Run {
  const child: ChildProcess = spawn(process.execPath, [...process.execArgv, program], {
    env,
    stdio: ["ignore", "inherit", "inherit", "ipc", ...fds],
  });
  const questions = createQuestions();
  const started = Promise.withResolvers<Started>();
  const ended = Promise.withResolvers<End>();
  let failure: ProcessFailed | undefined;
  let servingSinceMs: number | undefined;
  let stopping = false;
  let isHung = false;
  let pinging: NodeJS.Timeout | undefined;
  // The channel sends a connection when the one before it has been received. It loses those that still wait when it closes.
  const waiting = new Map<RawConnection, SharedPort>();
  started.promise.catch(() => {});

  const late = setTimeout(() => {
    failure = new ProcessFailed(`Process ${order.slot} was not ready within ${startWithinMs / 1000} s.`, 1);
    child.kill("SIGKILL");
  }, startWithinMs);

  function startPings(): void {
    let unanswered = 0;
    child.on("message", () => {
      unanswered = 0;
    });
    // Counted in pings, because a clock also advances while the supervisor itself is stopped: then it has sent none.
    pinging = setInterval(() => {
      isHung = ++unanswered > mostUnanswered;
      if (isHung) child.kill("SIGKILL");
      else send({ kind: "ping" });
    }, pingEveryMs);
  }

  function end(how: End): void {
    clearTimeout(late);
    clearInterval(pinging);
    questions.closed();
    const reason = how.signal ?? `exit code ${how.code}`;
    started.reject(failure ?? new ProcessFailed(`Process ${order.slot} ended during its start (${reason}).`, 1));
    ended.resolve(how);
    onEnd(run, how);
    for (const [raw, port] of waiting) onReturned(port, raw);
    waiting.clear();
  }

  child.on("error", (error) => {
    failure = new ProcessFailed(`Process ${order.slot} cannot be started: ${error.message}`, 1);
    // Without a process there is no exit.
    if (child.pid === undefined) end({ code: 1, signal: null });
  });
  child.once("exit", (code, signal) => end({ code, signal, isHung }));
  child.on("message", (message: FromProcess, raw: unknown) => {
    if (message.kind === "pong") return;
    if (message.kind === "answer") return questions.answered(message.id, message.value);
    if (message.kind === "failed") {
      failure = new ProcessFailed(message.message, message.exitCode);
      return;
    }
    if (message.kind === "stopping") stopping = true;
    if (message.kind === "started") {
      clearTimeout(late);
      servingSinceMs = performance.now();
      startPings();
      started.resolve(message.started);
    }
    onMessage(run, message, raw as RawConnection | undefined);
  });

  const send = (message: ToProcess) => {
    if (child.connected) child.send(message, () => {});
  };
  const run: Run = {
    id: order.id,
    slot: order.slot,
    name: order.run,
    pid: child.pid,
    started: started.promise,
    ended: ended.promise,
    servingSinceMs: () => servingSinceMs,
    isStopping: () => stopping,
    send,
    pass(port, raw) {
      if (!child.connected) return raw.close();
      waiting.set(raw, port);
      const message: ToProcess = { kind: "connection", port };
      child.send(message, raw as never, {}, () => waiting.delete(raw) && raw.close());
    },
    waiting: () => waiting.size,
    ask: (what, withinMs) => questions.ask((id) => send({ kind: "ask", id, what }), withinMs),
    async stop(limitMs, isReplaced) {
      stopping = true;
      send({ kind: "stop", isReplaced });
      const force = setTimeout(() => child.kill("SIGKILL"), limitMs);
      await ended.promise;
      clearTimeout(force);
    },
  };
  send({ kind: "start", order });
  return run;
}
