/** kill -9 of the real program at each step of an email's way, under load, many times: node scripts/kill-points.ts [times] [part of a point's name] */
import { killAt, killPoints } from "../test/harness/kill-points.ts";

const times = Number(process.argv[2] ?? 50);
const wanted = process.argv[3] ?? "";
let failed = 0;
for (const point of Object.keys(killPoints).filter((name) => name.includes(wanted))) {
  const started = performance.now();
  try {
    const { emails, recipients, events, copies, duplicates } = await killAt(point, times);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(
      `${point}: ${times} kills, ${emails} emails, ${recipients} recipients, ${events} events, ${copies} copies, ${duplicates} duplicates (all flagged), ${seconds} s\n`,
    );
  } catch (error) {
    failed++;
    process.stdout.write(`${point}: FAILED\n${(error as Error).stack}\n`);
  }
}
process.exit(failed === 0 ? 0 : 1);
