/** A few threads that read inbound messages and check their senders. Mail that arrives and mail that is read later wait in turns of their
 * own, each by owner: a stranger's network or a workspace. A message that uses too much time or memory ends its thread, and nothing else.
 * reader.ts is the interface for the rest of inbound/. */
import { Worker } from "node:worker_threads";
import { lookUpForNode } from "../dns/node-resolver.ts";
import { type CostQueue, createCostQueue } from "../shares/cost-queue.ts";
import type { Arrival, ArrivedDigest, FromThread, ToThread } from "./thread-messages.ts";
import type { Job, Thread } from "./thread-state.ts";
import {
  defaultLimits,
  type QueueName,
  type Task,
  type TaskResult,
  type Threads,
  type ThreadsDeps,
} from "./thread-tasks.ts";
import { unknownVerdicts } from "./verdicts.ts";

/** One thread is kept for small messages of owners below this recent cost, in milliseconds of CPU, and for tiny ones of all. The time that a
 * message takes grows with its size: at most 20 ms for 256 KiB, but seconds for 40 MiB. */
const heavyCostMs = 2000;
const tinyBytes = 16 * 1024;
const largeBytes = 256 * 1024;
/** Tiny messages that a thread gets at once, each of which takes a millisecond or less. */
const maxGroup = 8;
/** The thread for small messages has the priority of the event loop. The others get a third of its CPU time on a contended core, as signing
 * does (ops/process.ts). */
const niceness = { small: 0, any: 5 };
const costHalfLifeMs = 10_000;
/** An overrun: the owner counts as heavy for 36 seconds. */
const overrunCostMs = 60_000;
/** Large messages of an owner above this recent cost rest for seven times as long as they took, at most a second, so that a flood of them takes
 * at most an eighth of one core. */
const restingCostMs = 200;
const restFactor = 7;
const longestRestMs = 1000;
/** A thread that cannot start is started again after this time. */
const restartMs = 1000;

export function createThreads(deps: ThreadsDeps): Threads {
  const limits = { ...defaultLimits, ...deps.limits };
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
      active: new Map(),
      watch: undefined,
      idle: undefined,
      parked: new Map(),
      answered: new Set(),
      cpuMs: 0,
    };
    threads.add(thread);
    worker.on("message", (messages: FromThread[]) => {
      for (const message of messages) onMessage(thread, message);
      advance();
    });
    worker.on("error", (error) => replace(thread, { kind: "overran" }, (error as Error).message));
    worker.on("exit", () => replace(thread, { kind: "late" }, "the thread exited"));
    worker.unref();
    return thread;
  }

  function onMessage(thread: Thread, message: FromThread): void {
    if (message.kind === "ready") {
      thread.isReady = true;
      thread.cpuMs = message.cpuMs;
      return;
    }
    const job = thread.active.get(message.id) ?? thread.parked.get(message.id);
    if (!job) return;
    if (message.kind === "lookup") return void lookUp(thread, job, message);
    leave(thread, job, message.cpuMs);
    if (message.kind === "parked") park(thread, job, message.digest);
    else finish(job, outcomeOf(job, message));
  }

  function park(thread: Thread, job: Job, digest: ArrivedDigest | undefined): void {
    thread.parked.set(job.id, job);
    if (job.answers.length > 0) thread.answered.add(job);
    if (digest) limitTime(Object.assign(job, { digest }));
  }

  function limitTime(job: Job): void {
    const { timeoutMs } = job.task;
    if (timeoutMs !== undefined) job.timer = setTimeout(() => abandon(job), timeoutMs);
  }

  function outcomeOf(job: Job, message: FromThread): TaskResult<never> {
    if (job.hasEnded) return { kind: "late" };
    if (message.kind === "done") {
      const { result } = message;
      return { kind: "done", result: (job.digest ? { ...(result as Arrival), digest: job.digest } : result) as never };
    }
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
    if (thread.active.delete(job.id) && thread.active.size === 0) {
      clearTimeout(thread.watch);
      thread.watch = undefined;
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
    job.hasEnded = true;
    job.lookups?.abort();
    // An arrival is read by then. Its checks do not end within their limits, as those of a large message.
    if (outcome.kind === "done" || !job.digest) job.resolve(outcome);
    else job.resolve({ kind: "done", result: { digest: job.digest, verdicts: unknownVerdicts } as never });
  }

  async function lookUp(thread: Thread, job: Job, query: FromThread & { kind: "lookup" }): Promise<void> {
    const { id, lookup, name, type } = query;
    // Its limit passed before its turn in the group came, when the thread did not know it yet.
    if (job.hasEnded) return post(thread, { kind: "abandon", id });
    job.lookups ??= new AbortController();
    const { signal } = job.lookups;
    const found = await lookUpForNode(deps.resolver, { name, type, signal }).catch(() => ({
      code: "ESERVFAIL",
      keepMs: 0,
    }));
    if (job.hasEnded || job.thread !== thread) return;
    const answer = { kind: "answer" as const, id, lookup, answer: found };
    if (thread.active.has(id)) return post(thread, answer);
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
      if (!thread.isReady || thread.active.size > 0 || resumeParked(thread)) continue;
      const jobs = nextJobs(thread);
      if (jobs.length > 0) begin(thread, jobs);
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
    hold(thread, [job]);
    for (const answer of job.answers.splice(0)) post(thread, answer);
    return true;
  }

  function endWhenIdle(thread: Thread): void {
    if (thread.isForSmall || thread.parked.size > 0) return;
    thread.idle ??= setTimeout(() => {
      if (threads.delete(thread)) void thread.worker.terminate();
    }, limits.idleMs).unref();
  }

  /** One job, or a group of tiny ones, because each message between threads costs as much as reading a tiny one. */
  function nextJobs({ isForSmall }: Thread): Job[] {
    const first = nextJob((job) => !isResting(job) && !(isForSmall && isLong(job)));
    if (!first || !mayShare(first)) return first ? [first] : [];
    const group = [first];
    while (group.length < maxGroup) {
      const job = nextJob(mayShare);
      if (!job) break;
      group.push(job);
    }
    return group;
  }

  const mayShare = ({ task, alone }: Job) => !alone && task.raw.length <= tinyBytes;

  /** Both queues take turns. */
  function nextJob(mayRun: (job: Job) => boolean): Job | undefined {
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

  function begin(thread: Thread, jobs: readonly Job[]): void {
    for (const job of jobs) {
      clearTimeout(job.timer);
      job.thread = thread;
      if (job.task.work.kind !== "arrival") limitTime(job);
    }
    hold(thread, jobs);
    post(thread, { kind: "start", jobs: jobs.map(({ id, task: { work, raw } }) => ({ id, work, raw })) });
  }

  function hold(thread: Thread, jobs: readonly Job[]): void {
    clearTimeout(thread.idle);
    thread.idle = undefined;
    for (const job of jobs) thread.active.set(job.id, job);
    // An idle thread does not keep the process alive.
    thread.worker.ref();
    watch(thread, performance.now(), limits.cpuMs);
  }

  /** The result is no longer waited for. A thread that works on it goes on until it notices, or until `check` ends it. */
  function abandon(job: Job): void {
    const { thread } = job;
    if (!thread) return;
    post(thread, { kind: "abandon", id: job.id });
    finish(job, { kind: "late" });
    forgetParked(thread, job);
  }

  function watch(thread: Thread, sinceMs: number, waitMs: number): void {
    thread.watch = setTimeout(() => void check(thread, sinceMs), waitMs);
  }

  /** The jobs have had the thread for as long as the CPU time of one may be. They go on if they waited for the CPU. */
  async function check(thread: Thread, sinceMs: number): Promise<void> {
    const turn = thread.watch;
    const usage = await thread.worker.cpuUsage().catch(() => undefined);
    if (thread.watch !== turn || thread.active.size === 0 || !usage) return;
    const usedMs = (usage.user + usage.system) / 1000 - thread.cpuMs;
    if (usedMs >= limits.cpuMs) {
      for (const { task } of thread.active.values()) queues[task.queue].charge(task.owner, usedMs / thread.active.size);
      return replace(thread, { kind: "overran" }, "it used too much CPU time");
    }
    if (performance.now() - sinceMs > limits.turnMs) return replace(thread, { kind: "late" }, "the CPU is too busy");
    watch(thread, sinceMs, Math.max(100, limits.cpuMs - usedMs));
  }

  /** Ends the thread with its active job. Jobs that waited for DNS start again in another thread, once. So do the jobs of a group, each alone,
   * because any of them may have exceeded the limit. */
  function replace(thread: Thread, outcome: { kind: "overran" | "late" }, reason: string): void {
    if (!threads.delete(thread)) return;
    const active = [...thread.active.values()];
    clearTimeout(thread.watch);
    clearTimeout(thread.idle);
    thread.active.clear();
    void thread.worker.terminate();
    for (const job of thread.parked.values()) {
      if (job.restarted) finish(job, { kind: "late" });
      else startAgain(job, { restarted: true });
    }
    for (const job of active) {
      if (active.length > 1 && !stopped) startAgain(job, { alone: true });
      else finish(job, outcome.kind === "overran" ? overran(job, reason) : outcome);
    }
    if (thread.isReady) advance();
    else setTimeout(advance, restartMs).unref();
  }

  function startAgain(job: Job, mark: { restarted: true } | { alone: true }): void {
    enqueue(Object.assign(job, mark, { thread: undefined, answers: [] }));
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
          alone: false,
          answers: [],
          hasEnded: false,
          lookups: undefined,
          digest: undefined,
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
