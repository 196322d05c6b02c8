/** A bench for child.test.ts. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { nameOfChild, serveBench } from "./child.ts";

await serveBench(async () => {
  if (nameOfChild === "throws") throw new Error("no such site");
  if (nameOfChild === "exits") process.exit(3);
  if (nameOfChild === "hangs") {
    const { pid } = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
    writeFileSync(process.env.SAMPLE_FILE!, JSON.stringify({ pid, own: process.pid, folder: tmpdir() }));
    for (;;);
  }
  return [{ what: "rows", value: Number.NaN, unit: "/s" }];
});
