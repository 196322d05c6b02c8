/** A program with several processes (POSTHORN_PROCESSES), seen from outside, and faults that end one of them. */
import { request } from "node:http";
import type { ProcessState } from "../../src/app/readiness.ts";
import type { RunningProgram } from "./program.ts";
import { type Findings, type Progress, underLoad } from "./under-load.ts";
import { until } from "./wait.ts";

export async function processesOf(program: RunningProgram): Promise<ProcessState[]> {
  const response = await fetch(`${program.opsUrl}/readyz`);
  return ((await response.json()) as { processes: ProcessState[] }).processes;
}

/** Waits until all processes serve, none of them with a process id of `before`. Returns their ids. */
export async function untilAllRun(program: RunningProgram, before: readonly number[] = []): Promise<number[]> {
  return await until("all processes to run", async () => {
    const states = await processesOf(program);
    const pids = states.map(({ pid }) => pid!);
    return states.every(({ ready }) => ready) && !pids.some((pid) => before.includes(pid)) ? pids : undefined;
  });
}

/** The sum of a metric's series, as the operations port reports it. */
export async function metricOf(program: RunningProgram, series: RegExp): Promise<number> {
  const text = await (await fetch(`${program.opsUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => series.test(line));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** One call over a connection of its own. Resolves to the status, or to the code of the error that the client saw. */
export async function callOnce(program: RunningProgram, method: string, body: object = {}): Promise<number | string> {
  const headers = {
    authorization: `Bearer ${program.key}`,
    "connect-protocol-version": "1",
    "content-type": "application/json",
  };
  return await postOnce(`${program.url}/v1.${method}`, { headers, body });
}

/** As `callOnce`, to any address. */
export async function postOnce(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: object },
): Promise<number | string> {
  return await new Promise((resolve) => {
    const call = request(url, { method: "POST", agent: false, headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    call.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.end(JSON.stringify(body));
  });
}

/** Kills one process after the other while mail is sent and delivered. The others must take over at once, and the killed one must come back. */
export async function killProcesses(times: number, progress: Progress): Promise<Findings> {
  const testbed = { env: { POSTHORN_PROCESSES: "2" } };
  return await underLoad(
    { testbed, load: { senders: 6, pauseMs: 20 } },
    async ({ testbed, injectFault, whenSettled }) => {
      const { program, database } = testbed;
      const broken: string[] = [];
      for (let i = 1; i <= times; i++) {
        const pids = await untilAllRun(program);
        const victim = pids[i % pids.length]!;
        await injectFault(async () => {
          process.kill(victim, "SIGKILL");
          await until("the leases of the killed process to end", async () => {
            const [row] = await database.sql<{ rows: number }[]>`
            select count(*)::int as rows from workers where pid = ${victim}`;
            return row!.rows === 0;
          });
        });
        await untilAllRun(program, [victim]);
        progress(`${i} of ${times}`);
      }
      whenSettled(async () => {
        const restarts = (await processesOf(program)).reduce((sum, one) => sum + one.restarts, 0);
        if (restarts !== times) broken.push(`${restarts} restarts after ${times} kills`);
        return broken;
      });
    },
  );
}
