/** The abuse brakes: whether too many of a workspace's last recipients bounced or complained. Outcomes are counted in steps of about 100
 * recipients, so that the last 10,000 need 100 numbers. Pure. Called by store/brakes.ts. */

/** Outcomes of recipients in a row. */
export type BrakeStep = {
  recipients: number;
  bounces: number;
  complaints: number;
  /** The bounces and complaints of each recipient domain. Outcomes that are missing here count in full. */
  domains?: DomainCounts;
};
export type DomainCounts = Record<string, [bounces: number, complaints: number]>;

export type Figure = "bounces" | "complaints";
export type Warning = { figure: Figure; count: number; recipients: number; message: string };

/** Whose workspaces the brake suspends; all others are warned. */
export type BrakeMode = "new" | "all" | "none";

const stepRecipients = 100;

/** The figure must exceed `share` of the last `recipients`, and have at least `least` cases. A recipient domain counts for at most `alone`
 * cases, or half as many as all others together: the owner of a domain can enter any number of its addresses in a tenant's form, and
 * complain from each. */
const brakes: Record<Figure, { recipients: number; share: number; least: number; alone: number }> = {
  complaints: { recipients: 10_000, share: 0.003, least: 10, alone: 3 },
  bounces: { recipients: 1000, share: 0.1, least: 100, alone: 30 },
};

/** Adds outcomes in their order, and forgets steps that no brake looks at any more. */
export function addSteps(steps: readonly BrakeStep[], added: readonly BrakeStep[]): BrakeStep[] {
  const all = [...steps];
  for (const step of added) {
    const last = all.at(-1);
    if (!last || last.recipients >= stepRecipients) all.push(step);
    else all[all.length - 1] = sum(last, step);
  }
  const kept = lastSteps(all, brakes.complaints.recipients);
  const withBounces = lastSteps(kept, brakes.bounces.recipients).length;
  return kept.map((step, i) => (i < kept.length - withBounces ? withoutBounceDomains(step) : step));
}

/** Why the workspace must stop or be warned. Undefined: it is within the limits. */
export function judgeSteps(steps: readonly BrakeStep[]): Warning | undefined {
  for (const figure of ["complaints", "bounces"] as const) {
    const { share, least, recipients: window } = brakes[figure];
    const total = lastSteps(steps, window).reduce(sum, { recipients: 0, bounces: 0, complaints: 0 });
    const { recipients } = total;
    const count = countOf(total, figure);
    if (count >= least && count > share * recipients)
      return { figure, count, recipients, message: sentence(figure, count, recipients) };
  }
  return undefined;
}

/** The cases of a figure, in which no domain counts for more than its limit. */
function countOf(total: BrakeStep, figure: Figure): number {
  const all = total[figure];
  let over = 0;
  for (const counts of Object.values(total.domains ?? {})) {
    const own = counts[figure === "bounces" ? 0 : 1];
    const most = Math.max(brakes[figure].alone, Math.floor((all - own) / 2));
    over += Math.max(own - most, 0);
  }
  return all - over;
}

export function isSuspended(mode: BrakeMode, workspace: { fromSignUp: boolean }): boolean {
  return mode === "all" || (mode === "new" && workspace.fromSignUp);
}

/** The newest steps with at least so many recipients. */
function lastSteps(steps: readonly BrakeStep[], recipients: number): BrakeStep[] {
  let first = steps.length;
  for (let found = 0; first > 0 && found < recipients; first--) found += steps[first - 1]!.recipients;
  return steps.slice(first);
}

function sum(a: BrakeStep, b: BrakeStep): BrakeStep {
  const total: BrakeStep = {
    recipients: a.recipients + b.recipients,
    bounces: a.bounces + b.bounces,
    complaints: a.complaints + b.complaints,
  };
  if (!a.domains && !b.domains) return total;
  total.domains = { ...a.domains };
  for (const [domain, [bounces, complaints]] of Object.entries(b.domains ?? {})) {
    const before = total.domains[domain] ?? [0, 0];
    total.domains[domain] = [before[0] + bounces, before[1] + complaints];
  }
  return total;
}

/** No brake looks at bounces this old. Their domains would make the stored record ten times as large. */
function withoutBounceDomains(step: BrakeStep): BrakeStep {
  if (!step.domains) return step;
  const complaining = Object.entries(step.domains).filter(([, [, complaints]]) => complaints > 0);
  return {
    ...step,
    domains: Object.fromEntries(complaining.map(([domain, [, complaints]]) => [domain, [0, complaints]])),
  };
}

function sentence(figure: Figure, count: number, recipients: number): string {
  const percent = (share: number) => `${Number((share * 100).toFixed(2))} %`;
  const part = recipients === 0 ? "" : ` (${percent(count / recipients)})`;
  const limit = `The limit is ${percent(brakes[figure].share)}.`;
  return figure === "bounces"
    ? `${count} of the last ${recipients} recipients bounced${part}. ${limit}`
    : `${count} complaints about the last ${recipients} recipients${part}. ${limit}`;
}
