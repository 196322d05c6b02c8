/** The abuse brakes: whether too many of a workspace's last recipients bounced or complained. Outcomes are counted in steps of about 100
 * recipients, so that the last 10,000 need 100 numbers. Pure. Called by store/brakes.ts. */

/** Outcomes of recipients in a row. */
export type Step = { recipients: number; bounces: number; complaints: number };

export type Figure = "bounces" | "complaints";
export type Warning = { figure: Figure; count: number; recipients: number; message: string };

/** Whose workspaces the brake suspends; all others are warned. */
export type BrakeMode = "new" | "all" | "none";

const stepRecipients = 100;

/** The figure must exceed `share` of the last `recipients`, and have at least `least` cases. */
const brakes: Record<Figure, { recipients: number; share: number; least: number }> = {
  complaints: { recipients: 10_000, share: 0.003, least: 10 },
  bounces: { recipients: 1000, share: 0.1, least: 100 },
};

/** Adds outcomes in their order, and forgets steps that no brake looks at any more. */
export function addSteps(steps: readonly Step[], added: readonly Step[]): Step[] {
  const all = [...steps];
  for (const step of added) {
    const last = all.at(-1);
    if (!last || last.recipients >= stepRecipients) all.push(step);
    else all[all.length - 1] = sum(last, step);
  }
  return lastSteps(all, Math.max(...Object.values(brakes).map(({ recipients }) => recipients)));
}

/** Why the workspace must stop or be warned. Undefined: it is within the limits. */
export function judgeSteps(steps: readonly Step[]): Warning | undefined {
  for (const figure of ["complaints", "bounces"] as const) {
    const { share, least, recipients: window } = brakes[figure];
    const total = lastSteps(steps, window).reduce(sum, { recipients: 0, bounces: 0, complaints: 0 });
    const { recipients } = total;
    const count = total[figure];
    if (count >= least && count > share * recipients)
      return { figure, count, recipients, message: sentence(figure, count, recipients) };
  }
  return undefined;
}

export function isSuspended(mode: BrakeMode, workspace: { fromSignUp: boolean }): boolean {
  return mode === "all" || (mode === "new" && workspace.fromSignUp);
}

/** The newest steps with at least so many recipients. */
function lastSteps(steps: readonly Step[], recipients: number): Step[] {
  let first = steps.length;
  for (let found = 0; first > 0 && found < recipients; first--) found += steps[first - 1]!.recipients;
  return steps.slice(first);
}

function sum(a: Step, b: Step): Step {
  return {
    recipients: a.recipients + b.recipients,
    bounces: a.bounces + b.bounces,
    complaints: a.complaints + b.complaints,
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
