/**
 * The CPU time that each process of a bench takes while it measures, in percent of one core (Linux). The load generator and the receiver share
 * the machine with the program, so their share is part of the result.
 */
import { existsSync } from "node:fs";
import { machineMs, withChildrenMs } from "./cost.ts";
import { receiverPids } from "./counting-process.ts";

/**
 * `load` is the process of the bench, with its load generator and its DNS server. `others` is everything else on the machine, such as Postfix
 * while it is measured, and what a virtual machine's host takes. Two busy cores are 200.
 */
export type Shares = { load: number; receiver?: number; program?: number; database?: number; others?: number };

export type Processes = {
  node?: { pid: number } | undefined;
  environment?: { databasePid(): number | undefined } | undefined;
};

/** CPU time in ms so far. */
type Times = Omit<Shares, "others"> & { machine: number };

/** Runs `work` and returns its result with the shares of the processes meanwhile. Every figure of a throughput is measured in it. */
export async function measured<T>(
  processes: Processes,
  work: () => Promise<T>,
): Promise<{ result: T; shares: Shares | undefined }> {
  const before = cpuTimes(processes);
  const began = performance.now();
  const result = await work();
  const tookMs = performance.now() - began;
  return { result, shares: sharesBetween(before, cpuTimes(processes), tookMs) };
}

export function sharesBetween(before: Times, after: Times, tookMs: number): Shares | undefined {
  if (Number.isNaN(after.load)) return undefined;
  const { machine, ...own } = after;
  const spent = (Object.keys(own) as (keyof typeof own)[]).map(
    (name) => [name, own[name]! - (before[name] ?? 0)] as const,
  );
  const othersMs = machine - before.machine - spent.reduce((sum, [, ms]) => sum + ms, 0);
  const percentOf = (ms: number) => (ms / tookMs) * 100;
  const shares = Object.fromEntries(spent.map(([name, ms]) => [name, percentOf(ms)])) as Shares;
  return { ...shares, others: Math.max(0, percentOf(othersMs)) };
}

const labels = {
  load: "load",
  receiver: "receiver",
  program: "program",
  database: "PostgreSQL",
  others: "others",
} as const;

export function showShares(shares: Shares): string {
  const parts = (Object.keys(labels) as (keyof Shares)[]).flatMap((name) =>
    // Such as the receiver of a bench that sends nothing to it.
    Math.round(shares[name] ?? 0) === 0 ? [] : [`${labels[name]} ${Math.round(shares[name]!)} %`],
  );
  return `CPU of one core: ${parts.join(", ")}`;
}

/** The mean of the shares of several measurements. */
export function meanShares(all: readonly Shares[]): Shares {
  const names = Object.keys(all[0]!) as (keyof Shares)[];
  const mean = (name: keyof Shares) => all.reduce((sum, shares) => sum + (shares[name] ?? 0), 0) / all.length;
  return Object.fromEntries(names.map((name) => [name, mean(name)])) as Shares;
}

function cpuTimes({ node, environment }: Processes): Times {
  if (!existsSync("/proc/self/stat")) return { load: Number.NaN, machine: Number.NaN };
  const { user, system } = process.cpuUsage();
  const receivers = receiverPids();
  const database = environment?.databasePid();
  return {
    load: (user + system) / 1000,
    ...(receivers.length > 0 && { receiver: receivers.reduce((sum, pid) => sum + withChildrenMs(pid), 0) }),
    ...(node && { program: withChildrenMs(node.pid) }),
    ...(database !== undefined && { database: withChildrenMs(database) }),
    machine: machineMs(),
  };
}
