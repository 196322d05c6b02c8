/** Faults that kill the program (SIGKILL) at each step of an email's processing, and during webhook deliveries. */
import { killAt, killPoints } from "../harness/kill-points.ts";
import type { Progress } from "../harness/under-load.ts";
import { killWebhooks } from "../harness/webhook-kills.ts";
import type { Fault } from "./fault.ts";

const promise =
  "no accepted email is lost; a second copy only if an attempt was in doubt; new mail is delivered after the restart";

export const kills: Fault[] = [
  ...killPoints.map((point) => ({
    name: `kill -9 ${point}`,
    promise,
    times: 10,
    inject: (times: number, progress: Progress) => killAt([point], times, progress),
  })),
  {
    name: "kill -9 around webhook deliveries",
    promise: "every event reaches the endpoint",
    times: 10,
    inject: killWebhooks,
  },
];
