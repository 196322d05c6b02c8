// Writes the entry points of the SDK into sdk/package.json, for `import`, for `require`, and for compilers that do not read "exports";
// and the version of the SDK into its source.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./buf.ts";

export const name = "package of the SDK";

const path = "sdk/package.json";

/** The files in sdk/src that users import: `node` is `posthorn/node`. */
export const entries = ["index", "node", "nodemailer", "express", "fastify", "hono", "next"];

export async function generate(): Promise<Map<string, string>> {
  const manifest = JSON.parse(await readFile(join(root, path), "utf8")) as Record<string, unknown>;
  const subPaths = entries.filter((entry) => entry !== "index");
  const next = {
    ...manifest,
    // Read only by compilers and bundlers without support for "exports", as is typesVersions.
    main: "./dist/cjs/index.js",
    types: "./dist/cjs/index.d.ts",
    typesVersions: { "*": Object.fromEntries(subPaths.map((entry) => [entry, [`./dist/cjs/${entry}.d.ts`]])) },
    exports: {
      ...Object.fromEntries(entries.map((entry) => [entry === "index" ? "." : `./${entry}`, conditionsOf(entry)])),
      "./package.json": "./package.json",
    },
  };
  const version = `// Generated from sdk/package.json by "npm run generate". Do not edit.\nexport const version = "${manifest.version}";\n`;
  return new Map([
    [path, `${JSON.stringify(next, null, 2)}\n`],
    ["sdk/src/version.ts", version],
  ]);
}

/** TypeScript reads each format's types only if they come before the code. */
function conditionsOf(entry: string) {
  const files = (format: string) => ({
    types: `./dist/${format}/${entry}.d.ts`,
    default: `./dist/${format}/${entry}.js`,
  });
  return { import: files("esm"), require: files("cjs") };
}
