/** What surrounds a program: a process of its own, or a supervisor (processes/supervisor.ts) with several processes. assemble.ts wires a program for
 * either. */
import { type CallLimit, createCallLimit, type Rate } from "../http/gate.ts";
import { onlyProcess, type ProcessPart } from "../shares/process-part.ts";
import type { SharedListener } from "../shares/spread.ts";
import { type Ops, type OpsDeps, startOps } from "./assemble/ops.ts";
import { type Ports, writePorts } from "./files.ts";

export type SharedPortName = "http" | "smtp" | "submission" | "submissions";

export type Host = {
  /** This process's part in the limits that are divided. */
  part: ProcessPart;
  /** Identifies this run in the workers table. */
  run: string | undefined;
  /** Opens the operations port. */
  startOps(deps: OpsDeps): Promise<Ops>;
  callLimit(rate: Rate): CallLimit;
  /** The sockets that the processes share; undefined: the program binds its own. */
  listener(port: SharedPortName): SharedListener | undefined;
  dnsSockets: { udp: number; tcp: number } | undefined;
  /** How long a stopping program serves idle connections. */
  lingerMs(): number;
  /** Publishes the ports for commands. */
  writePorts(dataDir: string, ports: Ports): Promise<void>;
};

export const ownProcess: Host = {
  part: onlyProcess,
  run: undefined,
  startOps,
  callLimit: createCallLimit,
  listener: () => undefined,
  dnsSockets: undefined,
  lingerMs: () => 0,
  writePorts,
};
