/** What a supervisor and its processes send to each other. Every message is JSON; a connection that moves to another process travels with its
 * message. */
import type { AttemptCounts, AttemptNote } from "../../shares/guesses-among-peers.ts";
import type { ProcessPart } from "../../shares/process-part.ts";
import type { Program } from "../assemble.ts";
import type { Ports } from "../files.ts";
import type { Details } from "../readiness.ts";

/** Ports that all processes share. DNS has two sockets on one port. */
export const sharedPorts = ["http", "smtp", "submission", "submissions", "dnsTcp", "dnsUdp"] as const;
export type SharedPort = (typeof sharedPorts)[number];
/** The descriptors under which a process inherits the sockets. */
export type Descriptors = Partial<Record<SharedPort, number>>;

/** The number of connections that a process has, by port. */
export type Loads = Partial<Record<SharedPort, number>>;
/** A number of connections for each process, by its id. */
export type LoadsById = [id: number, loads: Loads][];

/** What a process reports: one snapshot. Connections that moved are counted from the start of the process. */
export type LoadReport = {
  loads: Loads;
  /** Connections that have arrived from the supervisor. */
  arrived: Loads;
  /** Connections sent to the supervisor, by the process chosen for them. */
  sent: LoadsById;
};

/** What the supervisor tells a process. */
export type SharedLoads = {
  /** Of all processes that take connections. Connections that the supervisor has passed to a process count there before they arrive. */
  loads: LoadsById;
  /** Connections passed to the process that gets this message. */
  passed: Loads;
  /** Connections received from the process that gets this message, by the process it chose for them. */
  seen: LoadsById;
};

/** One metric as the registry reports it. */
export type MetricJson = { name: string; type: string; aggregator: string; help: string; values: unknown[] };

/** How a process starts. */
export type StartOrder = {
  slot: number;
  /** Of the supervisor. Messages have no versions, so a process of another release must not take part. */
  version: string;
  /** Counts the processes that the supervisor has started. */
  id: number;
  part: ProcessPart;
  /** Identifies this run in the workers table. */
  run: string;
  /** Of the embedded database, which the supervisor runs. */
  databaseUrl: string | undefined;
  descriptors: Descriptors;
  /** The operations port of the supervisor. */
  opsPort: number;
};

/** What a process knows when it serves; the supervisor shows it to the operator. */
export type Started = Pick<Program, "first" | "exampleDomain" | "firstSignUp"> & { ports: Ports };

/** Questions to a process. */
export type ProcessAnswers = { metrics: MetricJson[]; details: Details; attempts: AttemptCounts };
/** Questions to the supervisor. */
export type SupervisorAnswers = {
  metrics: { contentType: string; text: string };
  ready: boolean;
  tokens: { granted: number; waitMs: number };
};

export type ToProcess =
  | { kind: "start"; order: StartOrder }
  | { kind: "stop"; isReplaced: boolean }
  /** Answered with `pong` by each event loop that still turns. */
  | { kind: "ping" }
  | { kind: "attempt"; note: AttemptNote }
  /** At its start, from another process. */
  | { kind: "attempts"; counts: AttemptCounts }
  | ({ kind: "loads" } & SharedLoads)
  | { kind: "connection"; port: SharedPort }
  | { kind: "ask"; id: number; what: keyof ProcessAnswers }
  | { kind: "answer"; id: number; value: unknown };

export type FromProcess =
  | { kind: "started"; started: Started }
  | { kind: "failed"; message: string; exitCode: number }
  | { kind: "pong" }
  /** It takes no more connections. */
  | { kind: "stopping" }
  /** Its last counts, before it ends. */
  | { kind: "metrics"; metrics: MetricJson[] }
  | { kind: "attempt"; note: AttemptNote }
  | ({ kind: "loads" } & LoadReport)
  | { kind: "connection"; port: SharedPort; to: number }
  | { kind: "tokens"; owner: string; given: number }
  | { kind: "ask"; id: number; what: keyof SupervisorAnswers; owner?: string; wanted?: number }
  | { kind: "answer"; id: number; value: unknown };
