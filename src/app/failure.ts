/** What an operator reads about a command or a start that failed, and its exit code. Used by cli.ts and processes/child.ts. */
import { UsageError } from "./command.ts";
import { ConfigError } from "./config.ts";

/** Exit codes: 1 failure, 2 a mistake in the command or the configuration. */
export function failureOf(error: unknown): { message: string; exitCode: number } {
  const mistake = error instanceof UsageError || error instanceof ConfigError;
  const message = mistake || isExpected(error) ? (error as Error).message : ((error as Error).stack ?? String(error));
  return { message, exitCode: mistake ? 2 : ((error as { exitCode?: number } | undefined)?.exitCode ?? 1) };
}

const expected: ReadonlySet<string> = new Set([
  ...[
    "ContentRefused",
    "DatabaseRefused",
    "EmbeddedError",
    "ObjectLost",
    "ProcessFailed",
    "SchemaError",
    "SecretError",
  ],
  ...["StoreError", "Problem"],
]);

/** Errors whose message is enough for the operator, without a stack trace. */
function isExpected(error: unknown): boolean {
  return expected.has((error as Error)?.name) || (error as NodeJS.ErrnoException)?.code === "EADDRINUSE";
}
