/** Faults that kill the program or a command around content in object storage. */
import { killObjects, objectKills, startObjectBed } from "../harness/object-kills.ts";
import type { Fault } from "./fault.ts";

const none = {
  inFlight: 0,
  emails: 0,
  lost: 0,
  duplicated: 0,
  inDoubt: 0,
  suspected: 0,
  gaps: 0,
  recoveryMs: undefined,
};

export const objects: Fault[] = Object.entries(objectKills).map(([step, kill]) => ({
  name: `kill -9 ${step}, with content in object storage`,
  promise: "no content of an accepted email is lost, and no object is left for ever",
  times: 10,
  async inject(times) {
    const bed = await startObjectBed();
    const broken: string[] = [];
    try {
      for (let n = 0; n < times; n++) broken.push(...(await killObjects(bed, kill)));
    } finally {
      await bed.stop();
    }
    return { ...none, injected: times, broken };
  },
}));
