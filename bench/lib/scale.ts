/** Options that benches read when they are loaded. */

/** How much a bench stores or sends: `--scale N` of bench/run.ts, or the variable BENCH_SCALE. */
const given = option("scale") ?? process.env.BENCH_SCALE;

export const scale = given === undefined || given === "" ? 1 : Number(given);
if (!(scale > 0)) {
  process.stderr.write(`--scale ${given}: must be a number above 0, such as 0.1 or 3.\n`);
  process.exit(2);
}

/** `--quick`: fewer emails and one measurement of each figure. */
export const quick = process.argv.includes("--quick");

/** The value of `--name value` or `--name=value`. */
export function option(name: string): string | undefined {
  const at = process.argv.findIndex((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`));
  return at < 0 ? undefined : (process.argv[at]!.split("=")[1] ?? process.argv[at + 1]);
}
