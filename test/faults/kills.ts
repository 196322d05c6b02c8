/** kill -9 of the program at each step of an email's way, and around webhook deliveries. */
import { killAt, killPoints } from "../harness/kill-points.ts";
import { killWebhooks } from "../harness/webhook-kills.ts";
import type { Fault } from "./fault.ts";

const promise =
  "nothing accepted is lost; a second copy only where an attempt was in doubt; fresh mail flows after the restart";

export const kills: Fault[] = [
  ...killPoints.map((point) => ({
    name: `kill -9 ${point}`,
    ...{ promise, times: 10 },
    inject: (times: number, say: (words: string) => void) => killAt([point], times, say),
  })),
  {
    name: "kill -9 around webhook deliveries",
    promise: "every event reaches the endpoint",
    times: 10,
    inject: killWebhooks,
  },
];
