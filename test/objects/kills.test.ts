/** To inject each kill many times: npm run faults -- --only object */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { killObjects, type ObjectBed, objectKills, startObjectBed } from "../harness/object-kills.ts";

let bed: ObjectBed;
before(async () => {
  bed = await startObjectBed();
});
after(async () => await bed?.stop());

for (const [step, kill] of Object.entries(objectKills))
  test(`after kill -9 ${step}, no content is lost and no object is left`, async () => {
    assert.deepEqual(await killObjects(bed, kill), []);
  });
