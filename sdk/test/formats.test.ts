/** The two builds of the package, for `import` and `require`: entry points, and types under each module resolution. */
import assert from "node:assert/strict";
import { copyFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { entries } from "../../scripts/generators/sdk-package.ts";
import { consumer, makeProject, run, sdk } from "./project.ts";

const modules = join(sdk, "../node_modules");
let project: string;

before(async () => {
  project = await makeProject();
});

after(() => rm(project, { recursive: true, force: true }));

test("publint finds nothing to improve", async () => {
  const { messages, pkg } = await publint({ pkgDir: join(project, "node_modules/posthorn"), strict: true });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg as never)),
    [],
  );
});

test("attw finds no problem in any entry point, module resolution or format", async () => {
  const tarball = (await readdir(project)).find((name) => name.endsWith(".tgz"))!;
  const attw = join(modules, ".bin/attw");
  const { stdout } = await run(attw, [tarball, "--format", "json", "--no-definitely-typed"], { cwd: project });
  const { analysis } = JSON.parse(stdout) as {
    analysis: { entrypoints: Record<string, unknown>; problems?: unknown[] };
  };
  assert.deepEqual(analysis.problems ?? [], []);
  const names = entries.map((entry) => (entry === "index" ? "." : `./${entry}`));
  assert.deepEqual(Object.keys(analysis.entrypoints).sort(), [...names, "./package.json"].sort());
});

test("every entry point can be required and imported, with the same names", async () => {
  const names = entries.map((entry) => (entry === "index" ? "posthorn" : `posthorn/${entry}`));
  const script = `(async () => {
    for (const name of ${JSON.stringify(names)}) {
      const [required, imported] = [Object.keys(require(name)).sort(), Object.keys(await import(name)).sort()];
      if (required.length === 0 || String(required) !== String(imported)) throw new Error(name + ": " + required + " / " + imported);
    }
  })();`;
  await writeFile(join(project, "names.cjs"), script);
  await run(process.execPath, ["names.cjs"], { cwd: project });
});

test("both builds render React components where the optional package is installed, and say when it is not", async () => {
  const script = `
    const sent = [];
    const fetch = async (url, init) => { sent.push(JSON.parse(init.body)); return new Response('{"id":"em_1"}'); };
    const react = { $$typeof: Symbol.for("react.transitional.element"), type: "p", key: null, ref: null, props: { children: "Hi" } };
    const email = { from: "a@example.com", to: "b@example.net", subject: "", react };
    new Posthorn({ apiKey: "ph_x", fetch }).emails.send(email).then(
      () => console.log(sent[0].html.match(/<p>.*<\\/p>/)[0], sent[0].body),
      (error) => console.log(error.name, error.code, error.message),
    );`;
  await writeFile(join(project, "react.cjs"), `const { Posthorn } = require("posthorn");${script}`);
  await writeFile(join(project, "react.mjs"), `import { Posthorn } from "posthorn";${script}`);
  const outputOf = async (file: string) => (await run(process.execPath, [file], { cwd: project })).stdout;
  for (const file of ["react.cjs", "react.mjs"])
    assert.match(await outputOf(file), /^PosthornError failed_precondition react: .*"npm install @react-email\/render/);
  await symlink(join(modules, "@react-email"), join(project, "node_modules/@react-email"));
  for (const file of ["react.cjs", "react.mjs"]) assert.equal(await outputOf(file), "<p>Hi</p> Hi\n");
});

// The compiler of this checkout no longer has the oldest module resolution. attw brings a compiler that has it.
const attwModules = createRequire(createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json"));
const olderTsc = createRequire(attwModules.resolve("@arethetypeswrong/core")).resolve("typescript/lib/tsc.js");
const newerTsc = join(modules, "typescript/bin/tsc");

const compilers: [name: string, tsc: string, options: object, extension: string][] = [
  ["node10", olderTsc, { module: "commonjs", moduleResolution: "node10" }, "ts"],
  ["node16, import", olderTsc, { module: "node16", moduleResolution: "node16" }, "mts"],
  ["node16, require", olderTsc, { module: "node16", moduleResolution: "node16" }, "cts"],
  ["nodenext, import", newerTsc, { module: "nodenext", moduleResolution: "nodenext" }, "mts"],
  ["nodenext, require", newerTsc, { module: "nodenext", moduleResolution: "nodenext" }, "cts"],
  ["bundler", newerTsc, { module: "esnext", moduleResolution: "bundler" }, "ts"],
];

const libraries: [name: string, options: object, source: string][] = [
  ["browser types", { lib: ["es2022", "dom", "dom.iterable"], types: [] }, "types.ts"],
  ["Node's types", { lib: ["es2022"], types: ["node"] }, "types.ts"],
  ["neither", { lib: ["es2022"], types: [] }, "bare.ts"],
];

test("the types compile under each module resolution, with the browser's types, with Node's types, and with neither", async (t) => {
  await symlink(join(modules, "@types"), join(project, "node_modules/@types"));
  await symlink(join(modules, "undici-types"), join(project, "node_modules/undici-types"));
  for (const [name, tsc, moduleOptions, extension] of compilers) {
    for (const [library, libraryOptions, source] of libraries) {
      // The older compiler needs seconds for Node's types, and the result depends on the module resolution only through file names.
      if (tsc === olderTsc && library === "Node's types" && name !== "node10") continue;
      const file = `consumer.${extension}`;
      await copyFile(join(consumer, source), join(project, file));
      await t.test(`${name}, ${library}`, () => compile(tsc, { ...moduleOptions, ...libraryOptions }, file));
    }
  }
});

test("streams of Node are attachments", async () => {
  const source = `import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { AttachmentInput } from "posthorn";
export const attachments: AttachmentInput[] = [
  { content: createReadStream("a"), filename: "a" },
  { content: Readable.from(["b"]), filename: "b" },
  { content: Readable.toWeb(createReadStream("a")), filename: "c" },
  { content: Buffer.from("d"), filename: "d" },
];
`;
  await writeFile(join(project, "streams.mts"), source);
  await compile(newerTsc, { module: "nodenext", lib: ["es2022"], types: ["node"] }, "streams.mts");
});

async function compile(tsc: string, options: object, file: string): Promise<void> {
  const compilerOptions = {
    target: "es2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    ...options,
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
  const result = await run(process.execPath, [tsc, "-p", project]).catch((error: { stdout: string }) => error);
  assert.equal(result.stdout, "");
}
