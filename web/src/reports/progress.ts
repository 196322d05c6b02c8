/** The stages of a domain toward `p=reject`, and the headline of the next step. */
import { type DmarcProgress, DmarcStep } from "../../../src/gen/v1/report_pb.ts";
import type { Tone } from "../parts/outcome.tsx";

export type Stage = {
  policy: "none" | "quarantine" | "reject";
  name: string;
  meaning: string;
  state: "done" | "current" | "next" | "later";
};

const stages: readonly Omit<Stage, "state">[] = [
  { policy: "none", name: "Monitor", meaning: "Receivers deliver mail that fails DMARC, and report it." },
  { policy: "quarantine", name: "Quarantine", meaning: "Receivers put mail that fails into the spam folder." },
  { policy: "reject", name: "Reject", meaning: "Receivers reject mail that fails." },
];

/** The policy that a step publishes. */
const published: Partial<Record<DmarcStep, Stage["policy"]>> = {
  [DmarcStep.PUBLISH]: "none",
  [DmarcStep.QUARANTINE]: "quarantine",
  [DmarcStep.REJECT]: "reject",
};

export function stagesOf({ policy, step }: Pick<DmarcProgress, "policy" | "step">): Stage[] {
  const current = stages.findIndex((stage) => stage.policy === policy);
  const isDone = step === DmarcStep.DONE;
  return stages.map((stage, i) => ({
    ...stage,
    state:
      isDone || i < current ? "done" : i === current ? "current" : stage.policy === published[step] ? "next" : "later",
  }));
}

export type StepHeadline = { tone: Tone; title: string };

const headlines: Partial<Record<DmarcStep, StepHeadline>> = {
  [DmarcStep.PUBLISH]: { tone: "delayed", title: "Publish a DMARC record." },
  [DmarcStep.ADD_REPORTS]: { tone: "delayed", title: "Let the reports come here." },
  [DmarcStep.WAIT]: { tone: "queued", title: "Wait for more reports." },
  [DmarcStep.FIX_SOURCES]: { tone: "bounced", title: "Authenticate the sources that fail." },
  [DmarcStep.QUARANTINE]: { tone: "gold", title: "You can change the policy to quarantine." },
  [DmarcStep.REJECT]: { tone: "gold", title: "You can change the policy to reject." },
  [DmarcStep.DONE]: { tone: "delivered", title: "The domain is protected." },
};

/** A newer server may return steps that this page does not know. Its message explains them. */
export function stepHeadline(step: DmarcStep): StepHeadline {
  return headlines[step] ?? { tone: "queued", title: "Next step" };
}

/** True: the owner of the domain can do something now. */
export function isDue(step: DmarcStep): boolean {
  return step !== DmarcStep.UNSPECIFIED && step !== DmarcStep.WAIT && step !== DmarcStep.DONE;
}

/** The name of a record as the form of a DNS provider expects it. */
export function nameInZone(name: string, zone: string): string {
  if (name === zone) return "@";
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
}
