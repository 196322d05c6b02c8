/** What inbound/ asks the threads for: the digest and the verdicts of mail that arrives, and the texts and attachments of stored mail.
 * receive.ts and service.ts use it. */
import type { BodyEncoding } from "../mail/message/body.ts";
import type { Texts } from "../mail/message/digest.ts";
import type { ReportForm, ReportResult } from "../mail/reports/read.ts";
import type { Submitted } from "../mail/submitted/prepare.ts";
import { Problem } from "../ops/problem.ts";
import { networksOf } from "../shares/address.ts";
import type { IncomingMail } from "../smtp/server/policy.ts";
import type { Verdicts } from "./rules/events.ts";
import type { ArrivedDigest, Results, Work } from "./thread-messages.ts";
import type { TaskResult, Threads } from "./thread-tasks.ts";
import { unknownVerdicts, verifyLimitMs } from "./verdicts.ts";

export type Reader = {
  /** The digest, or the SMTP reply that refuses or defers the message. With `verify`, the verdicts of a small message are found in the same turn
   * of a thread; otherwise when they are asked for. */
  arrival(mail: IncomingMail, options: { verify: boolean }): Promise<ReadArrival | { reply: string }>;
  /** Checks that do not end within their limits are a temporary error. */
  verify(mail: IncomingMail): Promise<Verdicts>;
  /** The DMARC or TLS report in the mail, or the SMTP reply that refuses or defers it. */
  report(mail: IncomingMail): Promise<ReportResult | { reply: string }>;
  /** The same for a report that is not in a message. `owner`: the network of the client. */
  bareReport(raw: Buffer, owner: string): Promise<ReportResult | { reply: string }>;
  /** A submitted message, ready to be stored, or the SMTP reply that refuses or defers it. */
  prepare(workspaceId: string, raw: Buffer, recipients: readonly string[]): Promise<Submitted | { reply: string }>;
  texts(workspaceId: string, raw: Buffer): Promise<Texts>;
  attachment(workspaceId: string, raw: Buffer, id: string): Promise<Uint8Array | undefined>;
  decode(workspaceId: string, body: Buffer, encoding: BodyEncoding): Promise<Uint8Array>;
};

export type ReadArrival = { digest: ArrivedDigest; verdicts(): Promise<Verdicts> };

/** The checks of such a message take about as long as reading it. */
const smallArrivalBytes = 16 * 1024;
/** Reads of one workspace that may wait for a thread. */
const maxWaitingReads = 50;

export function createReader({ threads, hostname }: { threads: Threads; hostname: string }): Reader {
  async function read<Kind extends Work["kind"]>(
    owner: string,
    raw: Buffer,
    work: Extract<Work, { kind: Kind }>,
  ): Promise<Results[Kind]> {
    if (threads.waiting("reads", owner) >= maxWaitingReads) throw tooManyReads();
    const outcome = await threads.run<Kind>({ work, raw, queue: "reads", owner });
    if (outcome.kind === "done") return outcome.result;
    if (outcome.kind === "late") throw tooManyReads();
    // Mail of an earlier version, which had other limits.
    throw new Problem(
      "failed_precondition",
      "The message exceeds the limits on inbound mail and cannot be shown in parts. Read it with GetInboundContent.",
    );
  }

  async function readReport(raw: Buffer, owner: string, form: ReportForm): Promise<ReportResult | { reply: string }> {
    const outcome = await threads.run({ work: { kind: "report", form }, raw, queue: "arrivals", owner });
    return outcome.kind === "done" ? outcome.result : { reply: replyOf(outcome) };
  }

  function judging<Kind extends "verify" | "arrival">(kind: Kind, mail: IncomingMail) {
    const { ip, helo } = mail.client;
    const work = { kind, sender: mail.sender, client: { ip, helo }, hostname } as Extract<Work, { kind: Kind }>;
    return { work, raw: mail.message, queue: "arrivals", owner: ownerOf(mail) } as const;
  }

  async function verify(mail: IncomingMail): Promise<Verdicts> {
    const outcome = await threads.run<"verify">({ ...judging("verify", mail), timeoutMs: verifyLimitMs });
    return outcome.kind === "done" ? outcome.result : unknownVerdicts;
  }

  return {
    report: (mail) => readReport(mail.message, ownerOf(mail), "message"),
    bareReport: (raw, owner) => readReport(raw, owner, "report"),
    async arrival(mail, options) {
      if (options.verify && mail.message.length <= smallArrivalBytes) {
        const outcome = await threads.run<"arrival">({ ...judging("arrival", mail), timeoutMs: verifyLimitMs });
        if (outcome.kind === "done")
          return { digest: outcome.result.digest, verdicts: async () => outcome.result.verdicts };
        // What exceeded the limit, the message or the checks of its sender, shows when they run one after the other.
        if (outcome.kind !== "overran") return { reply: replyOf(outcome) };
      }
      const work = { kind: "digest", sender: mail.sender } as const;
      const outcome = await threads.run({ work, raw: mail.message, queue: "arrivals", owner: ownerOf(mail) });
      if (outcome.kind !== "done") return { reply: replyOf(outcome) };
      return { digest: outcome.result, verdicts: () => verify(mail) };
    },
    async prepare(workspaceId, raw, recipients) {
      const work = { kind: "prepare", recipients } as const;
      const outcome = await threads.run({ work, raw, queue: "arrivals", owner: workspaceId });
      if (outcome.kind !== "done") return { reply: replyOf(outcome) };
      const { message } = outcome.result;
      return { ...outcome.result, message: Buffer.from(message.buffer, message.byteOffset, message.byteLength) };
    },
    verify,
    texts: (workspaceId, raw) => read(workspaceId, raw, { kind: "texts" }),
    attachment: (workspaceId, raw, id) => read(workspaceId, raw, { kind: "attachment", id }),
    decode: (workspaceId, body, encoding) => read(workspaceId, body, { kind: "decode", encoding }),
  };
}

function replyOf(outcome: Exclude<TaskResult<unknown>, { kind: "done" }>): string {
  switch (outcome.kind) {
    case "refused":
      return outcome.reply;
    case "overran":
      return "554 5.6.0 reading the message takes too much time or memory";
    case "late":
      return "451 4.3.2 too busy to read the message now, try again later";
  }
}

function ownerOf({ client }: IncomingMail): string {
  return networksOf(client.ip).site;
}

export function tooManyReads(): Problem {
  const text =
    "This workspace reads more inbound mail than this node can parse. Retry in 5 seconds, with fewer calls at once.";
  return new Problem("resource_exhausted", text, { retryAfterMs: 5000 });
}
