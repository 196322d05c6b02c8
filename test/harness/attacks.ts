/** Attacks by a stranger or by a tenant, in a process of their own. The faults about neighbours use them (test/faults/neighbours.ts). */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What the attackers know: the ports, the key of their own workspace, and the ids of content that they stored before. */
export type AttackOrder = {
  attack: string;
  http: number;
  smtp: number;
  key: string;
  /** An address that their own workspace receives mail for. */
  address: string;
  inboundIds: string[];
  emailId: string;
};
/** How often each answer was seen, by its status or its first words. */
export type AttackReport = { ready: boolean; answers: Record<string, number> };

export type Attack = {
  /** Whether the attack is in place: the connections are open, or the first calls are made. */
  isReady(): boolean;
  answers(): Record<string, number>;
  /** Closes all connections at once. */
  stop(): Promise<void>;
};

export function startAttack(order: AttackOrder): Attack {
  const child = fork(fileURLToPath(new URL("./attack-process.ts", import.meta.url)), { stdio: "inherit" });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let last: AttackReport = { ready: false, answers: {} };
  child.on("message", (report) => {
    last = report as AttackReport;
  });
  child.send(order);
  return {
    isReady: () => last.ready,
    answers: () => last.answers,
    async stop() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
