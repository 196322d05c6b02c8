/** The transport compiles with @types/nodemailer, which programs with nodemailer before version 10 use. nodemailer.test.ts compiles with
 * nodemailer's own types. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { run, sdk } from "./project.ts";

const modules = join(sdk, "../node_modules");

const program = `import { createTransport } from "nodemailer";
import { posthornTransport, type SentMessageInfo } from "posthorn/nodemailer";

const transporter = createTransport(posthornTransport({ apiKey: "ph_live_…" }), { from: "shop@example.test" });
export const sent: Promise<string> = transporter.sendMail({ to: "ada@example.net" }).then((info) => info.messageId);
export const verified: Promise<true> = transporter.verify();

// These types say that every transport returns the info of the SMTP transport.
createTransport<SentMessageInfo>(posthornTransport({ apiKey: "ph_live_…" }))
  .sendMail({ to: "ada@example.net" })
  .then(({ accepted, rejected, pending, response }) => [accepted, rejected, pending, response]);
`;

test("the transport compiles with @types/nodemailer", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-nodemailer-types-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "program.mts"), program);
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    lib: ["es2024", "dom", "dom.iterable"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    typeRoots: [join(modules, "@types")],
    types: ["node"],
    paths: {
      nodemailer: [join(modules, "@types/nodemailer/index.d.ts")],
      "posthorn/nodemailer": [join(sdk, "src/nodemailer.ts")],
    },
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.mts"] }));
  const result = await run(join(modules, ".bin/tsc"), ["-p", folder]).catch((error: { stdout: string }) => error);
  assert.equal(result.stdout, "");
});
