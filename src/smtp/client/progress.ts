/** What an attempt waits for, kept up to date by the SMTP client. Delivery reads it to notice receivers that do not answer. */
import type { AnsweredStep, Phase } from "./evidence.ts";

export type Step = AnsweredStep | "queued" | "body";

export class Progress {
  /** `queued`: waits for a connection of the pool. */
  step: Step = "queued";
  /** Since when the attempt waits for the server or for a connection. Undefined: it does work of its own. A monotonic time. */
  waitingSinceMs: number | undefined;
  /** Called with each complete reply of the server, and when a connection opens. */
  onAnswer: ((step: AnsweredStep, tookMs: number) => void) | undefined;
  /** Called right before the client sends the final dot. The client does not need the message any longer. */
  onDot: (() => void) | undefined;

  enter(phase: Phase): void {
    this.step = stepOf[phase];
  }

  wait(step: Step = this.step): void {
    this.step = step;
    this.waitingSinceMs = performance.now();
  }

  /** Ends the wait. `answered`: because the server replied. */
  resume(answered: boolean): void {
    const { waitingSinceMs, step } = this;
    this.waitingSinceMs = undefined;
    if (!answered || waitingSinceMs === undefined || step === "queued" || step === "body") return;
    this.onAnswer?.(step, performance.now() - waitingSinceMs);
  }
}

const stepOf: Record<Phase, Step> = {
  connect: "open",
  banner: "open",
  ehlo: "open",
  tls: "open",
  auth: "open",
  mail: "envelope",
  rcpt: "envelope",
  data: "envelope",
  dot: "dot",
  "after-dot": "dot",
};
