/** Loaded into every test file's process by scripts/test.ts: one that never ends says what keeps it, and ends as failed. Without it a single
 * socket that nobody closed would hold up the whole run, for node's own limit counts while a test runs, not after the last one. */
const withinMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 360_000);

setTimeout(() => {
  process.stderr.write(
    `${process.argv[1]} had not ended after ${withinMs / 1000} s. Still open: ${process.getActiveResourcesInfo().join(", ")}\n`,
  );
  process.exit(1);
}, withinMs).unref();
