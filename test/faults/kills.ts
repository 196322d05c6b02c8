/** Faults that kill the program (SIGKILL) at each step of an email's processing, and during webhook deliveries. */
import { anyMoment, killAt, killPoints, submissionKillPoints } from "../harness/kill-points.ts";
import { submitAgain } from "../harness/submission.ts";
import type { Findings, Progress } from "../harness/under-load.ts";
import { killWebhooks } from "../harness/webhook-kills.ts";
import type { Fault } from "./fault.ts";

const promise =
  "no accepted email is lost; a second copy only if an attempt was in doubt; new mail is delivered after the restart";

export const kills: Fault[] = [
  ...killPoints.map((point) => ({
    name: `kill -9 ${point}`,
    promise,
    times: 10,
    inject: async (times: number, progress: Progress) => {
      const found = await killAt([point], times, { progress });
      return point === anyMoment ? checkDoubt(found) : found;
    },
  })),
  ...submissionKillPoints.map((point) => ({
    name: `kill -9 ${point}, mail submitted over SMTP`,
    promise,
    times: 10,
    inject: (times: number, progress: Progress) => killAt([point], times, { progress, send: submitAgain }),
  })),
  {
    name: "kill -9 around webhook deliveries",
    promise: "every event reaches the endpoint",
    times: 10,
    inject: killWebhooks,
  },
];

/** Doubt must be precise: at least half of the flagged recipients have a second copy. */
function checkDoubt(found: Findings): Findings {
  const { suspected, duplicated } = found;
  const note = `${suspected} recipients flagged as possible duplicates, ${duplicated} of them with a second copy`;
  const isVague = suspected > 2 * duplicated;
  return { ...found, note, broken: isVague ? [...found.broken, note] : found.broken };
}
