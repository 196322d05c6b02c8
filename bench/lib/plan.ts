/** Which benches a run has, how long they take, and when one counts as hanging. The durations are planned for two cores without other work. */

export type Planned = { name: string; seconds: number; limitMs: number; scale?: number };

type Size = {
  /** With two or three measurements of each figure, at its scale in a run of all benches. */
  seconds: number;
  /** With --quick. A bench without it has no target, and a quick run of all benches leaves it out. */
  quickSeconds?: number;
  /** The scale in a run of all benches, so that it ends within 10 minutes; 0 leaves the bench out. By default 1. */
  scaleInAll?: number;
};

export const sizes: Record<string, Size> = {
  http: { seconds: 20 },
  send: { seconds: 100, quickSeconds: 30 },
  sign: { seconds: 10 },
  recipients: { seconds: 18, scaleInAll: 0.1 },
  destinations: { seconds: 50, quickSeconds: 11 },
  queue: { seconds: 95, quickSeconds: 21, scaleInAll: 0.1 },
  // Takes half an hour with --scale 3.
  growth: { seconds: 900, scaleInAll: 0 },
  partitions: { seconds: 33, scaleInAll: 0.05 },
  attachments: { seconds: 24 },
  batches: { seconds: 24, quickSeconds: 7 },
  webhooks: { seconds: 45, quickSeconds: 11 },
  inbound: { seconds: 50, quickSeconds: 12 },
  submission: { seconds: 30 },
  processes: { seconds: 22, scaleInAll: 0.1 },
  fanout: { seconds: 30, quickSeconds: 9 },
  start: { seconds: 25, quickSeconds: 9, scaleInAll: 0.3 },
  stream: { seconds: 20, quickSeconds: 8 },
};

const unknown: Size = { seconds: 30, quickSeconds: 15 };

/** Four times the usual duration, and never less than this. A slow or busy machine must not stop a bench that makes progress. */
const shortestLimitMs = 120_000;
const patience = 4;

export type PlanOptions = { quick: boolean; scale?: string | undefined };

/** Without names, all benches that fit into the time of such a run. */
export function plan(all: readonly string[], names: readonly string[], { quick, scale }: PlanOptions): Planned[] {
  const named = names.length > 0;
  const chosen = named ? names : all.filter((name) => inRunOfAll(name, quick));
  return chosen.map((name) => {
    const { seconds, quickSeconds = seconds, scaleInAll = 1 } = sizes[name] ?? unknown;
    const reduced = !named && scale === undefined && scaleInAll !== 1;
    const factor = Number(scale ?? 1) / (named || scale !== undefined ? scaleInAll || 1 : 1);
    const expected = Math.round((quick ? quickSeconds : seconds) * Math.max(1, factor));
    return {
      name,
      seconds: expected,
      limitMs: Math.max(shortestLimitMs, expected * patience * 1000),
      ...(reduced && { scale: scaleInAll }),
    };
  });
}

function inRunOfAll(name: string, quick: boolean): boolean {
  const { quickSeconds, scaleInAll = 1 } = sizes[name] ?? unknown;
  return scaleInAll > 0 && (!quick || quickSeconds !== undefined);
}

/** 75: "1:15". */
export function minutes(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
