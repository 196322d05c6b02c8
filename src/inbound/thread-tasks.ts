/** What callers can ask of the threads that read inbound messages: tasks, their results and limits. threads.ts runs them. */
import type { Resolver } from "../dns/resolver.ts";
import type { Results, Work } from "./thread-messages.ts";

export type TaskResult<Result> =
  | { kind: "done"; result: Result }
  /** The SMTP reply for a message that exceeds a limit. */
  | { kind: "refused"; reply: string }
  /** The message used up its time or memory, and would do so again. */
  | { kind: "overran" }
  /** It waited too long for its turn, or for the CPU. Perhaps not the message's fault. */
  | { kind: "late" };

export type Threads = {
  run<Kind extends Work["kind"]>(task: Task<Kind>): Promise<TaskResult<Results[Kind]>>;
  /** How many tasks of the owner wait for a thread. */
  waiting(queue: QueueName, owner: string): number;
  /** How many threads there are. */
  count(): number;
  stop(): Promise<void>;
};

export type QueueName = "arrivals" | "reads";

export type Task<Kind extends Work["kind"] = Work["kind"]> = {
  work: Extract<Work, { kind: Kind }>;
  raw: Uint8Array;
  queue: QueueName;
  owner: string;
  /** The longest time from the start of the work to its end, waits for DNS included. Of an arrival: from the end of its digest. */
  timeoutMs?: number;
};

export type ThreadsDeps = {
  resolver: Resolver;
  limits?: Partial<ThreadLimits>;
  onOverrun(about: { work: Work["kind"]; owner: string; reason: string }): void;
};

export type ThreadLimits = {
  threads: number;
  /** CPU time of one task. 40 MiB of base64 take 0.4 s, 40 MiB of HTML tags 3.3 s. */
  cpuMs: number;
  /** The longest turn of a task on a machine that is too busy to give it its CPU time. */
  turnMs: number;
  /** The longest wait for a thread. */
  queueMs: number;
  /** The heap of one thread. */
  heapMb: number;
  /** A thread for any message ends after this time without one, because its heap stays as large as its largest messages needed. */
  idleMs: number;
};

export const defaultLimits: ThreadLimits = {
  threads: 2,
  cpuMs: 5000,
  turnMs: 60_000,
  queueMs: 60_000,
  heapMb: 160,
  idleMs: 30_000,
};
