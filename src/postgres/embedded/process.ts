/** Identifies processes: a pid is reused, a pid with its start time is not. Used by lock.ts, server.ts and app/files.ts. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { basename } from "node:path";

/** The start time of a process, which distinguishes it from any other process with this pid; undefined when none runs. */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform !== "linux") return startFromPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command name may contain spaces and brackets, so fields are counted after its closing bracket.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const state = fields[0];
    // A zombie has ended. In a container whose first process does not reap children it stays forever.
    if (state === "Z" || state === "X") return undefined;
    return fields[19];
  } catch {
    return undefined;
  }
}

/** Start times count from boot, so they are comparable only within one boot. */
export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

/** Hashed, because machine-id(5) asks programs not to show the id itself. Empty where the machine has none, as in most containers. */
export function machineId(): string {
  try {
    const id = readFileSync("/etc/machine-id", "utf8").trim();
    return /^[0-9a-f]{32}$/.test(id) ? createHash("sha256").update(`posthorn ${id}`).digest("hex").slice(0, 16) : "";
  } catch {
    return "";
  }
}

/** Pids of another namespace (another container on the same volume) are not visible to this process. */
export function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/**
 * True when this pid is the PostgreSQL server of that cluster. Compares its working directory, which stays the same when the
 * directory is moved and differs when it is copied.
 */
export function isServerOf(pid: number, cluster: string): boolean {
  if (processStart(pid) === undefined) return false;
  try {
    if (process.platform !== "linux") return ps(pid, "command=").includes(`postgres -D ${cluster}`);
    const [program] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    if (program === undefined || basename(program) !== "postgres") return false;
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(cluster)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false;
  }
}

/** True when any process has this pid, according to kill(2), which is all that PostgreSQL checks. */
export function pidTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const [state, ...start] = ps(pid, "state=,lstart=").trim().split(/\s+/);
    return state === undefined || state.startsWith("Z") ? undefined : start.join(" ");
  } catch {
    return undefined;
  }
}

function ps(pid: number, columns: string): string {
  return execFileSync("ps", ["-o", columns, "-p", String(pid)], { encoding: "utf8" });
}
