/** All faults in the order of docs/faults.md. scripts/faults.ts runs them. */
import { queued } from "./backlogs.ts";
import { catchUps } from "./catch-up.ts";
import { clocks } from "./clock.ts";
import { cuts } from "./cut.ts";
import { databases } from "./database.ts";
import { failOvers } from "./fail-over.ts";
import type { Fault } from "./fault.ts";
import { kills } from "./kills.ts";
import { listeners } from "./listeners.ts";
import { lostCommits } from "./lost-commits.ts";
import { neighbours } from "./neighbours.ts";
import { nodes } from "./nodes.ts";
import { objects } from "./objects.ts";
import { patroniFailOvers } from "./patroni.ts";
import { receivers } from "./receivers.ts";
import { slowReceivers } from "./slow.ts";

export const allFaults: readonly Fault[] = [
  ...kills,
  ...objects,
  ...databases,
  ...lostCommits,
  ...cuts,
  ...failOvers,
  ...patroniFailOvers,
  ...nodes,
  ...receivers,
  ...slowReceivers,
  ...queued,
  ...listeners,
  ...catchUps,
  ...clocks,
  ...neighbours,
];
