/** What a process holds at this moment, read from /proc: open files, and the memory it has and had at most. */
import { readdirSync, readFileSync } from "node:fs";

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function memoryMiB(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? Number.NaN);
  return { now: kib("VmRSS") / 1024, peak: kib("VmHWM") / 1024 };
}
