/** The published package: packed, installed from the tarball without a registry, run on each Node of this machine, type-checked. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { streamThroughKill } from "./live.ts";
import { peerKey, startPeer } from "./peer.ts";
import { consumer, makeProject, nodes, run, sdk } from "./project.ts";

const tsc = join(sdk, "../node_modules/.bin/tsc");
let project: string;

before(async () => {
  project = await makeProject();
});

after(() => rm(project, { recursive: true, force: true }));

test("the package contains types, the license and the README, and no tests or sources", async () => {
  const files = await readdir(join(project, "node_modules/posthorn"), { recursive: true });
  for (const name of [
    "dist/esm/index.js",
    "dist/esm/node.d.ts",
    "dist/cjs/index.js",
    "dist/cjs/node.d.ts",
    "LICENSE",
    "README.md",
  ])
    assert.ok(files.includes(name), name);
  assert.deepEqual(
    files.filter((name) => /test|src/.test(name)),
    [],
  );
  const manifest = JSON.parse(await readFile(join(project, "node_modules/posthorn/package.json"), "utf8"));
  assert.equal(manifest.dependencies, undefined);
});

test("only entry points for Node import Node modules", async () => {
  const dist = join(project, "node_modules/posthorn/dist/esm");
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
  const imports = new Map<string, string[]>();
  for (const name of names) {
    const text = await readFile(join(dist, name), "utf8");
    const foreign = [...text.matchAll(/^(?:import|export)[^;]* from "([^."][^"]*)"/gm)].map((match) => match[1]!);
    if (foreign.length > 0) imports.set(name, foreign);
  }
  assert.deepEqual(Object.fromEntries(imports), {
    "fastify.js": ["node:stream"],
    "node.js": ["node:fs/promises", "node:path"],
  });
});

test("on each Node, a program sends, streams across a reconnect, and verifies a webhook", async (t) => {
  const esm = await readFile(join(consumer, "app.mjs"), "utf8");
  const imports = /^import (\{.*\}) from ("posthorn.*");$/gm;
  const cjs = esm.replaceAll(imports, "const $1 = require($2);");
  await writeFile(join(project, "app.mjs"), esm);
  await writeFile(join(project, "app.cjs"), `(async () => {\n${cjs}\n})();`);
  await writeFile(join(project, "terms.txt"), ", no returns");
  for (const [version, path] of await nodes()) {
    for (const app of ["app.mjs", "app.cjs"]) await t.test(`${version}, ${app}`, () => runConsumer(version, path, app));
  }
});

async function runConsumer(version: string, path: string, app: string): Promise<void> {
  await rm(join(project, "cursor"), { force: true });
  let isFirst = true;
  const peer = await startPeer({
    routes: (router) =>
      router.service(EmailService, {
        sendEmail: ({ attachments }) => ({
          id: `em_${attachments.map(({ base64Content }) => atob(base64Content)).join("")}`,
        }),
        getEmail() {
          throw new ConnectError("no such email", Code.NotFound);
        },
        async *streamEvents({ cursor }) {
          yield { cursor };
          for (let i = 1; i <= 2; i++) yield { cursor: String(Number(cursor) + i), event: { id: "evt_1" } };
          if (!isFirst) return;
          isFirst = false;
          throw new ConnectError("stopping", Code.Unavailable);
        },
      }),
  });
  try {
    const env = { ...process.env, POSTHORN_KEY: peerKey, POSTHORN_URL: peer.url };
    const { stdout } = await run(path, [app], { cwd: project, env });
    assert.deepEqual(JSON.parse(stdout), {
      node: version,
      id: "em_12.00 EUR, no returns!",
      cursors: ["1", "2", "3", "4"],
      event: "email.delivered",
      refused: "not_found",
    });
    assert.equal(await readFile(join(project, "cursor"), "utf8"), "3\n");
  } finally {
    await peer.close();
  }
}

test("on each Node, the client works with the real program and resumes streaming after the program is killed", async () => {
  await streamThroughKill(project, await nodes());
});

test("the examples in the README compile", async () => {
  const readme = await readFile(join(sdk, "README.md"), "utf8");
  const examples = [...readme.matchAll(/^```(tsx?)\n(.*?)^```$/gms)].map((match) => [match[1]!, match[2]!] as const);
  assert.ok(examples.length >= 5);
  // Names that the examples use without declaring them.
  const globals = `import type { Posthorn as Client } from "posthorn";
declare global {
  const posthorn: Client;
  const pdf: Uint8Array;
  const secret: string;
  const signal: AbortSignal;
  const app: { post(path: string, handler: unknown): void };
  function remove(addresses: readonly string[]): void;
  const from: string;
  const to: string;
  function Welcome(props: { name: string }): JSX.Element;
  namespace JSX {
    interface Element {
      type: unknown;
      props: unknown;
    }
  }
}
`;
  const files = examples.map(([ending], i) => `readme-${i}.${ending}`);
  // An example without imports must still be a module.
  for (const [i, [, text]] of examples.entries()) await writeFile(join(project, files[i]!), `${text}\nexport {};\n`);
  await writeFile(join(project, "globals.d.ts"), globals);
  // nodemailer.test.ts compiles with nodemailer's own types, which need Node's.
  const nodemailer = `declare module "nodemailer" {
  import type { PosthornTransport, SentMessageInfo } from "posthorn/nodemailer";
  export function createTransport(transport: PosthornTransport): { sendMail(message: object): Promise<SentMessageInfo> };
}
`;
  await writeFile(join(project, "nodemailer.d.ts"), nodemailer);
  const compilerOptions = {
    module: "nodenext",
    jsx: "preserve",
    target: "es2022",
    lib: ["es2022", "dom", "dom.iterable"],
    types: ["node"],
    typeRoots: [join(sdk, "../node_modules/@types")],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["globals.d.ts", "nodemailer.d.ts", ...files] }),
  );
  const result = await run(tsc, ["-p", project]).catch((error: { stdout: string }) => error);
  assert.equal(result.stdout, "");
});
