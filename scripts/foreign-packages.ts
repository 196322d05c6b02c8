/** Prints the Debian packages of all foreign programs that tests need. Called by .ci/run. */
import { foreign } from "../test/harness/foreign.ts";

const packages = Object.values(foreign).flatMap((one) => ("optional" in one ? [] : one.package.split(" ")));
process.stdout.write(`${[...new Set(packages)].sort().join("\n")}\n`);
