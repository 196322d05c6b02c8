/** Reads the resources of a process from /proc: open files, connections, current and peak memory; and the CPU time that the machine lost. */
import { readdirSync, readFileSync } from "node:fs";

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN);
  return { now: kib("VmRSS") / 1024, peak: kib("VmHWM") / 1024 };
}

/** Returns the share of the machine's CPU time, since this call, that its host gave to other machines. */
export function countStolen(): () => number {
  const read = () => {
    const times = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/).slice(1, 9).map(Number);
    return { all: times.reduce((sum, time) => sum + time), stolen: times[7]! };
  };
  const before = read();
  return () => {
    const now = read();
    return (now.stolen - before.stolen) / Math.max(1, now.all - before.all);
  };
}

/** TCP connections of a listener on this port, except those in TIME_WAIT, which belong to the kernel. */
export function openConnections(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const listen = "0A";
  const timeWait = "06";
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state !== listen && state !== timeWait).length;
}
