/** What threads.ts knows of each of its threads and of each job. */
import type { Worker } from "node:worker_threads";
import type { ArrivedDigest, ToThread } from "./thread-messages.ts";
import type { Task, TaskResult } from "./thread-tasks.ts";

export type Job = {
  id: number;
  task: Task;
  thread: Thread | undefined;
  /** Started again because another message ended the thread. */
  restarted: boolean;
  /** Started again because its group ended the thread. */
  alone: boolean;
  /** Answers that arrived while another job had the thread. */
  answers: (ToThread & { kind: "answer" })[];
  hasEnded: boolean;
  /** Ends its lookups. Most jobs have none. */
  lookups: AbortController | undefined;
  /** Of an arrival whose checks are not complete. */
  digest: ArrivedDigest | undefined;
  timer: NodeJS.Timeout | undefined;
  resolve(outcome: TaskResult<never>): void;
};

export type Thread = {
  worker: Worker;
  /** Whether it runs small messages only. */
  isForSmall: boolean;
  isReady: boolean;
  /** The jobs that use the CPU, one after the other: one, or a group of tiny ones. */
  active: Map<number, Job>;
  watch: NodeJS.Timeout | undefined;
  idle: NodeJS.Timeout | undefined;
  /** Jobs that wait for DNS, or for the thread after it. */
  parked: Map<number, Job>;
  /** Those of them that have an answer. */
  answered: Set<Job>;
  /** CPU time of the thread when the active job got it. */
  cpuMs: number;
};
