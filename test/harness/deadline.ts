/**
 * scripts/test.ts loads this file into every test process. A process that does not end reports what keeps it open and exits with
 * code 1. Node's own time limit covers a running test, but not a socket or timer that is left open after the last one.
 */
const withinMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 900_000);

setTimeout(() => {
  process.stderr.write(
    `${process.argv[1]} had not ended after ${withinMs / 1000} s. Still open: ${process.getActiveResourcesInfo().join(", ")}\n`,
  );
  process.exit(1);
}, withinMs).unref();
