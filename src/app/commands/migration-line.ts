/** One line for each step of a migration. Printed by posthorn migrate, and by other commands that wait for a migration. */
import type { Progress } from "../../postgres/migrate.ts";

export function lineOf(progress: Progress): string {
  const { migration } = progress;
  switch (progress.kind) {
    case "applied":
      return `${migration}: applied in ${progress.tookMs} ms`;
    case "index":
      return `${migration}: building ${progress.index} on ${progress.table} (${progress.step} of ${progress.of})`;
    case "building":
      return `${migration}: ${progress.index}: ${progress.phase}${progress.percent === undefined ? "" : `, ${progress.percent} %`}`;
    case "queued":
      return `${migration}: waiting for another node that applies it`;
    case "waiting": {
      const { blocker, tables } = progress;
      const by = blocker
        ? `: session ${blocker.pid} (${blocker.application || "no name"}, ${blocker.state}) has been in a transaction for ${Math.round(blocker.openForMs / 1000)} s: ${blocker.query}`
        : "";
      return `${migration}: waiting for a lock on ${tables.join(", ")}${by}`;
    }
  }
}
