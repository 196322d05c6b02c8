/** The messages between threads.ts and the threads that it starts (thread.ts). */
import type { NodeAnswer } from "../dns/node-resolver.ts";
import type { BodyEncoding } from "../mail/message/body.ts";
import type { Digest, Texts } from "../mail/message/digest.ts";
import type { ReportForm, ReportResult } from "../mail/reports/read.ts";
import type { Submitted } from "../mail/submitted/prepare.ts";
import type { Verdicts } from "./rules/events.ts";

/** What a thread can do with the bytes of one message. */
export type Work =
  /** For mail that arrives. */
  | { kind: "digest"; sender: string }
  | ({ kind: "verify" } & Judging)
  /** Both, for a small message. */
  | ({ kind: "arrival" } & Judging)
  /** A DMARC or TLS report. */
  | { kind: "report"; form: ReportForm }
  /** For mail that a program submits. */
  | { kind: "prepare"; recipients: readonly string[] }
  /** For stored mail. */
  | { kind: "texts" }
  | { kind: "attachment"; id: string }
  /** The bytes are the body of one attachment. */
  | { kind: "decode"; encoding: BodyEncoding };

type Judging = { sender: string; client: { ip: string; helo: string }; hostname: string };

export type Results = {
  digest: ArrivedDigest;
  verify: Verdicts;
  arrival: Arrival;
  report: ReportResult;
  prepare: Submitted;
  texts: Texts;
  attachment: Uint8Array | undefined;
  decode: Uint8Array;
};

export type ArrivedDigest = Digest & {
  /** False when the texts were cut to the length that an event has, because they are too long to be stored next to the message. */
  complete: boolean;
  /** The SHA-256 of the message, in hex. */
  contentHash: string;
};

export type Arrival = { digest: ArrivedDigest; verdicts: Verdicts };

export type ToThread =
  /** Several small jobs share a message. They run one after the other. */
  | { kind: "start"; jobs: readonly Start[] }
  | { kind: "answer"; id: number; lookup: number; answer: NodeAnswer }
  /** The result is no longer needed. */
  | { kind: "abandon"; id: number };

export type Start = { id: number; work: Work; raw: Uint8Array };

/** Each message has the CPU time that the thread has used since its start, in milliseconds. Several are posted at once. */
export type FromThread = { cpuMs: number } & (
  | { kind: "ready" }
  | { kind: "done"; id: number; result: Results[Work["kind"]] }
  /** The message exceeds a limit: the SMTP reply. */
  | { kind: "refused"; id: number; reply: string }
  /** The work used more CPU time than it may. */
  | { kind: "overran"; id: number }
  | { kind: "failed"; id: number; reason: string }
  /** The job waits for DNS answers and uses no CPU. The thread can take another one. With the first part of an arrival. */
  | { kind: "parked"; id: number; digest?: ArrivedDigest }
  | { kind: "lookup"; id: number; lookup: number; name: string; type: string }
);
