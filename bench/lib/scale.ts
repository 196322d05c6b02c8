/** How much a bench stores or sends: `--scale N` of bench/run.ts, or the variable BENCH_SCALE. Read when a bench is loaded. */

const at = process.argv.findIndex((argument) => argument === "--scale" || argument.startsWith("--scale="));
const given = at < 0 ? process.env.BENCH_SCALE : (process.argv[at]!.split("=")[1] ?? process.argv[at + 1]);

export const scale = given === undefined || given === "" ? 1 : Number(given);
if (!(scale > 0)) {
  process.stderr.write(`--scale ${given}: must be a number above 0, such as 0.1 or 3.\n`);
  process.exit(2);
}
