// Writes every generated file of the checkout, or checks that all are up to date. `npm run generate` and `npm run check` call it.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BufError, buf, root } from "./generators/buf.ts";
import { applyChanges, findChanges, type Generator } from "./generators/changes.ts";
import * as commandLine from "./generators/command-line.ts";
import * as contract from "./generators/contract.ts";
import * as envExample from "./generators/env-example.ts";
import * as openapi from "./generators/openapi.ts";
import * as quickstart from "./generators/quickstart.ts";
import * as reference from "./generators/reference.ts";
import * as sdkGen from "./generators/sdk-gen.ts";
import * as sdkPackage from "./generators/sdk-package.ts";
import * as states from "./generators/states.ts";

const generators: Generator[] = [
  contract,
  commandLine,
  envExample,
  openapi,
  quickstart,
  reference,
  sdkGen,
  sdkPackage,
  states,
];

const done = { missing: "written", differs: "rewritten", stale: "removed" };

const image = "proto/image.binpb";

const help = `Usage: node scripts/generate.ts [option]

Without an option, writes the generated files: ${generators.map((one) => one.name).join(", ")}.

  --check            write nothing; exit 1 and list the files that are not up to date
  --publish          record the current contract as published: write ${image}, which
                     "buf breaking --against ${image}" compares later changes with;
                     refused if the contract breaks the existing image
  --accept-breaking  like --publish, also if the contract breaks the image
  --help             show this help
`;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const badOption = (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  if (!(error instanceof BufError) && !badOption) throw error;
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function main(argv: string[]): Promise<number> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: argv,
    options: { check: flag, publish: flag, "accept-breaking": flag, help: flag },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  if (values.publish || values["accept-breaking"]) return publish(values["accept-breaking"]);
  let stale = 0;
  for (const generator of generators) {
    const changes = await findChanges(root, generator);
    console.log(`${generator.name}: ${changes.length === 0 ? "up to date" : `${changes.length} to change`}`);
    stale += changes.length;
    if (!values.check) await applyChanges(root, changes);
    for (const { path, kind } of changes) console.log(`  ${path}: ${values.check ? kind : done[kind]}`);
  }
  if (!values.check || stale === 0) return 0;
  console.error(`${stale} generated files are not up to date: run "npm run generate".`);
  return 1;
}

async function publish(acceptBreaking: boolean): Promise<number> {
  if (!acceptBreaking && existsSync(join(root, image))) await buf("breaking", "--against", image);
  await buf("build", "--exclude-source-info", "--output", image);
  console.log(`wrote ${image}`);
  return 0;
}
