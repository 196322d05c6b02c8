/** A few threads that read inbound messages and check their senders. Mail that arrives and mail that is read later wait in turns of their
 * own, each by owner: a stranger's network or a workspace. A message that uses too much time or memory ends its thread, and nothing else.
 * reader.ts is the interface for the rest of inbound/. */
import { Worker } from "node:worker_threads";
import { asNodeResolve } from "../dns/node-resolver.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type CostQueue, createCostQueue } from "../shares/cost-queue.ts";
import type { FromThread, Results, ToThread, Work } from "./thread-messages.ts";

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
  /** The longest time from the start of the work to its end, waits for DNS included. */
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

const defaults: ThreadLimits = {
  threads: 2,
  cpuMs: 5000,
  turnMs: 60_000,
  queueMs: 60_000,
  heapMb: 160,
  idleMs: 30_000,
};

/** One thread is kept for small messages of owners below this recent cost, in milliseconds of CPU, and for tiny ones of all. The time that a
 * message takes grows with its size: at most 20 ms for 256 KiB, but seconds for 40 MiB. */
const heavyCostMs = 2000;
const tinyBytes = 16 * 1024;
const largeBytes = 256 * 1024;
/** The thread for small messages has the priority of the event loop. The others get a third of its CPU time on a contended core, as signing
 * does (ops/process.ts). */
const niceness = { small: 0, any: 5 };
const costHalfLifeMs = 10_000;
/** What an overrun adds to the recent cost: the owner counts as heavy for 36 seconds. */
const overrunCostMs = 60_000;
/** Large messages of an owner above this recent cost rest for seven times as long as they took, at most a second, so that a flood of them takes
 * at most an eighth of one core. */
const restingCostMs = 200;
const restFactor = 7;
const longestRestMs = 1000;
/** A thread that cannot start is started again after this time. */
const restartMs = 1000;

type Job = {
  id: number;
  task: Task;
  thread: Thread | undefined;
  /** Started again because another message ended the thread. */
  restarted: boolean;
  /** Answers that arrived while another job had the thread. */
  answers: (ToThread & { kind: "answer" })[];
  ended: AbortController;
  timer: NodeJS.Timeout | undefined;
  resolve(outcome: TaskResult<never>): void;
};

type Thread = {
  worker: Worker;
  /** Whether it runs small messages only. */
  isForSmall: boolean;
  isReady: boolean;
  /** The job that uses the CPU. */
  active: Job | undefined;
  watch: NodeJS.Timeout | undefined;
  idle: NodeJS.Timeout | undefined;
  /** Jobs that wait for DNS, or for the thread after it. */
  parked: Map<number, Job>;
  /** Those of them that have an answer. */
  answered: Set<Job>;
  /** CPU time of the thread when the active job got it. */
  cpuMs: number;
};

export function createThreads(deps: ThreadsDeps): Threads {
  const limits = { ...defaults, ...deps.limits };
  const queues: Record<QueueName, CostQueue<Job>> = {
    arrivals: createCostQueue({ halfLifeMs: costHalfLifeMs }),
    reads: createCostQueue({ halfLifeMs: costHalfLifeMs }),
  };
  let nextQueue: QueueName = "arrivals";
  const threads = new Set<Thread>();
  /** Owners whose large messages rest. */
  const resting = new Set<string>();
  let lastId = 0;
  let stopped = false;

  function startThread(): Thread {
    const isForSmall = limits.threads > 1 && ![...threads].some((thread) => thread.isForSmall);
    const worker = new Worker(new URL("./thread.ts", import.meta.url), {
      name: "inbound",
      workerData: { niceness: isForSmall ? niceness.small : niceness.any },
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb, maxYoungGenerationSizeMb: 16 },
    });
    const thread: Thread = {
      worker,
      isForSmall,
      isReady: false,
      active: undefined,
      watch: undefined,
      idle: undefined,
      parked: new Map(),
      answered: new Set(),
      cpuMs: 0,
    };
    threads.add(thread);
    worker.on("message", (message: FromThread) => onMessage(thread, message));
    worker.on("error", (error) => replace(thread, { kind: "overran" }, (error as Error).message));
    worker.on("exit", () => replace(thread, { kind: "late" }, "the thread exited"));
    worker.unref();
    return thread;
  }

  function onMessage(thread: Thread, message: FromThread): void {
    if (message.kind === "ready") {
      thread.isReady = true;
      thread.cpuMs = message.cpuMs;
      return advance();
    }
    const job = thread.active?.id === message.id ? thread.active : thread.parked.get(message.id);
    if (!job) return;
    if (message.kind === "lookup") return void lookUp(thread, job, message);
    leave(thread, job, message.cpuMs);
    if (message.kind === "parked") park(thread, job);
    else finish(job, outcomeOf(job, message));
    advance();
  }

  function park(thread: Thread, job: Job): void {
    thread.parked.set(job.id, job);
    if (job.answers.length > 0) thread.answered.add(job);
  }

  function outcomeOf(job: Job, message: FromThread): TaskResult<never> {
    if (job.ended.signal.aborted) return { kind: "late" };
    if (message.kind === "done") return { kind: "done", result: message.result as never };
    if (message.kind === "refused") return { kind: "refused", reply: message.reply };
    if (message.kind === "overran") return overran(job, "the checks used too much CPU time");
    const reason = message.kind === "failed" ? message.reason : message.kind;
    deps.onOverrun({ work: job.task.work.kind, owner: job.task.owner, reason });
    return { kind: "overran" };
  }

  function overran({ task }: Job, reason: string): TaskResult<never> {
    queues[task.queue].charge(task.owner, overrunCostMs);
    deps.onOverrun({ work: task.work.kind, owner: task.owner, reason });
    return { kind: "overran" };
  }

  /** The job no longer uses the thread. */
  function leave(thread: Thread, job: Job, cpuMs: number): void {
    forgetParked(thread, job);
    if (thread.active === job) {
      clearTimeout(thread.watch);
      thread.active = undefined;
      thread.worker.unref();
    }
    const usedMs = Math.max(0, cpuMs - thread.cpuMs);
    thread.cpuMs = cpuMs;
    queues[job.task.queue].charge(job.task.owner, usedMs);
    if (isLarge(job)) rest(job.task, usedMs);
  }

  function rest({ queue, owner }: Task, usedMs: number): void {
    if (resting.has(owner) || queues[queue].recentCost(owner) < restingCostMs) return;
    resting.add(owner);
    const end = () => {
      resting.delete(owner);
      advance();
    };
    setTimeout(end, Math.min(restFactor * usedMs, longestRestMs)).unref();
  }

  function forgetParked(thread: Thread, job: Job): void {
    thread.parked.delete(job.id);
    thread.answered.delete(job);
  }

  function finish(job: Job, outcome: TaskResult<never>): void {
    clearTimeout(job.timer);
    job.ended.abort();
    job.resolve(outcome);
  }

  async function lookUp(thread: Thread, job: Job, query: FromThread & { kind: "lookup" }): Promise<void> {
    const { id, lookup, name, type } = query;
    const answer = await asNodeResolve(deps.resolver, job.ended.signal)(name, type).then(
      (records) => ({ kind: "answer" as const, id, lookup, records }),
      (error) => ({ kind: "answer" as const, id, lookup, code: String(error?.code ?? "ESERVFAIL") }),
    );
    if (job.ended.signal.aborted || job.thread !== thread) return;
    if (thread.active === job) return post(thread, answer);
    job.answers.push(answer);
    thread.answered.add(job);
    advance();
  }

  function post(thread: Thread, message: ToThread): void {
    thread.worker.postMessage(message);
  }

  /** Gives every free thread its next job. */
  function advance(): void {
    if (stopped) return;
    // A small message takes a thread for any message only if the other one is busy.
    const inOrder = [...threads].sort((a, b) => Number(b.isForSmall) - Number(a.isForSmall));
    for (const thread of inOrder) {
      if (!thread.isReady || thread.active || resumeParked(thread)) continue;
      const job = nextJob(thread);
      if (job) begin(thread, job);
      else endWhenIdle(thread);
    }
    const waiting = queues.arrivals.waiting() + queues.reads.waiting();
    const starting = [...threads].filter(({ isReady }) => !isReady).length;
    if (waiting > starting && threads.size < limits.threads) startThread();
  }

  function resumeParked(thread: Thread): boolean {
    const job = [...thread.answered].find((one) => !isResting(one));
    if (!job) return false;
    forgetParked(thread, job);
    hold(thread, job);
    for (const answer of job.answers.splice(0)) post(thread, answer);
    return true;
  }

  function endWhenIdle(thread: Thread): void {
    if (thread.isForSmall || thread.parked.size > 0) return;
    thread.idle ??= setTimeout(() => {
      if (threads.delete(thread)) void thread.worker.terminate();
    }, limits.idleMs).unref();
  }

  /** Both queues take turns. */
  function nextJob({ isForSmall }: Thread): Job | undefined {
    const mayRun = (job: Job) => !isResting(job) && !(isForSmall && isLong(job));
    const order: QueueName[] = nextQueue === "arrivals" ? ["arrivals", "reads"] : ["reads", "arrivals"];
    for (const queue of order) {
      const job = queues[queue].next(mayRun);
      if (!job) continue;
      nextQueue = queue === "arrivals" ? "reads" : "arrivals";
      return job;
    }
    return undefined;
  }

  const isLarge = ({ task }: Job) => task.raw.length > largeBytes;

  function isLong(job: Job): boolean {
    const { raw, queue, owner } = job.task;
    return isLarge(job) || (raw.length > tinyBytes && queues[queue].recentCost(owner) > heavyCostMs);
  }

  /** Small messages do not rest: a relay that sends many of them would get only a part of a core. */
  const isResting = (job: Job) => resting.has(job.task.owner) && isLarge(job);

  function begin(thread: Thread, job: Job): void {
    clearTimeout(job.timer);
    const { work, raw, timeoutMs } = job.task;
    if (timeoutMs !== undefined) job.timer = setTimeout(() => abandon(job), timeoutMs);
    job.thread = thread;
    hold(thread, job);
    post(thread, { kind: "start", id: job.id, work, raw });
  }

  function hold(thread: Thread, job: Job): void {
    clearTimeout(thread.idle);
    thread.idle = undefined;
    thread.active = job;
    // An idle thread does not keep the process alive.
    thread.worker.ref();
    thread.watch = setTimeout(() => void check(thread, job, performance.now()), limits.cpuMs);
  }

  /** The result is no longer waited for. A thread that works on it goes on until it notices, or until `check` ends it. */
  function abandon(job: Job): void {
    const { thread } = job;
    if (!thread) return;
    post(thread, { kind: "abandon", id: job.id });
    finish(job, { kind: "late" });
    forgetParked(thread, job);
  }

  /** The job has had the thread for as long as its CPU time may be. It goes on if it waited for the CPU. */
  async function check(thread: Thread, job: Job, sinceMs: number): Promise<void> {
    const usage = await thread.worker.cpuUsage().catch(() => undefined);
    if (thread.active !== job || !usage) return;
    const usedMs = (usage.user + usage.system) / 1000 - thread.cpuMs;
    if (usedMs >= limits.cpuMs) {
      queues[job.task.queue].charge(job.task.owner, usedMs);
      return replace(thread, { kind: "overran" }, "it used too much CPU time");
    }
    if (performance.now() - sinceMs > limits.turnMs) return replace(thread, { kind: "late" }, "the CPU is too busy");
    thread.watch = setTimeout(() => void check(thread, job, sinceMs), Math.max(100, limits.cpuMs - usedMs));
  }

  /** Ends the thread with its active job. Jobs that waited for DNS start again in another thread, once. */
  function replace(thread: Thread, outcome: { kind: "overran" | "late" }, reason: string): void {
    if (!threads.delete(thread)) return;
    const { active, parked } = thread;
    clearTimeout(thread.watch);
    clearTimeout(thread.idle);
    thread.active = undefined;
    void thread.worker.terminate();
    for (const job of parked.values()) {
      if (job.restarted) finish(job, { kind: "late" });
      else enqueue(Object.assign(job, { restarted: true, thread: undefined, answers: [] }));
    }
    if (active) finish(active, outcome.kind === "overran" ? overran(active, reason) : outcome);
    if (thread.isReady) advance();
    else setTimeout(advance, restartMs).unref();
  }

  function enqueue(job: Job): void {
    const { queue, owner } = job.task;
    clearTimeout(job.timer);
    job.timer = setTimeout(() => {
      if (queues[queue].remove(owner, job)) finish(job, { kind: "late" });
    }, limits.queueMs);
    queues[queue].add(owner, job);
  }

  return {
    run(task) {
      return new Promise((resolve) => {
        if (stopped) return resolve({ kind: "late" });
        lastId += 1;
        enqueue({
          id: lastId,
          task: task as unknown as Task,
          thread: undefined,
          restarted: false,
          answers: [],
          ended: new AbortController(),
          timer: undefined,
          resolve,
        });
        advance();
      });
    },
    waiting: (queue, owner) => queues[queue].waiting(owner),
    count: () => threads.size,
    async stop() {
      stopped = true;
      for (const queue of Object.values(queues))
        for (let job = queue.next(); job; job = queue.next()) finish(job, { kind: "late" });
      const all = [...threads];
      for (const thread of all) {
        for (const job of thread.parked.values()) finish(job, { kind: "late" });
        thread.parked.clear();
        replace(thread, { kind: "late" }, "the program stops");
      }
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}
