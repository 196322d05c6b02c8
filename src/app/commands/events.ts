/** posthorn events: prints a workspace's event log, one line per event, from a cursor to its end or live. */
import { setTimeout as delay } from "node:timers/promises";
import { Problem } from "../../ops/problem.ts";
import type { Command } from "../command.ts";
import { jsonLine } from "../output.ts";
import type { StreamAnswer } from "./api-client.ts";
import { showEvent } from "./event-line.ts";
import { apiOptions, withApi } from "./with-api.ts";

export const events: Command = {
  name: "events",
  summary: "Print the events of emails and domains, oldest first; with --follow, also new ones as they happen.",
  options: {
    follow: { type: "boolean", help: "keep printing new events until Ctrl-C" },
    cursor: { type: "string", help: "start after this cursor; latest: new events only", value: "0" },
    types: { type: "string", help: "only these types, comma list: email.delivered,email.bounced" },
    email: { type: "string", help: "only events of the email with this id" },
    ...apiOptions,
    json: { type: "boolean", help: "one JSON object per line, with its cursor" },
  },
  async run(input) {
    const { options } = input;
    const follow = options.follow === true;
    const ended = endedByReader(input.stop);
    const print = (message: StreamAnswer) => {
      if (message.event)
        process.stdout.write(options.json ? jsonLine(message) : `${showEvent(message.cursor, message.event)}\n`);
    };
    const request = {
      cursor: String(options.cursor ?? "0"),
      types: listOf(options.types),
      emailId: String(options.email ?? ""),
      follow,
    };
    await withApi({ ...input, stop: ended }, async (api) => {
      for (;;) {
        try {
          for await (const message of api.stream<StreamAnswer>("EmailService/StreamEvents", request, ended)) {
            print(message);
            request.cursor = message.cursor;
          }
          if (!follow) return;
        } catch (error) {
          if (ended.aborted) return;
          const shared = lastSharedCursor(error);
          if (!follow || !(shared ?? isRetryable(error))) throw error;
          request.cursor = shared ?? request.cursor;
          process.stderr.write(`${(error as Error).message} Reconnecting after cursor ${request.cursor} …\n`);
        }
        await delay(1000, undefined, { signal: ended }).catch(() => {});
        if (ended.aborted) return;
      }
    }).catch((error) => {
      if (!ended.aborted) throw error;
    });
  },
};

/** The cursor to resume from after the database lost the end of the log. */
function lastSharedCursor(error: unknown): string | undefined {
  return error instanceof Problem && error.reason === "LOG_CUT" ? error.metadata.lastSharedCursor : undefined;
}

/** A new connection may succeed: the server restarts, or the connection was lost. */
function isRetryable(error: unknown): boolean {
  return error instanceof Problem && ["unavailable", "resource_exhausted", "canceled"].includes(error.code);
}

/** Aborted with `stop`, or when a reader such as head closes the pipe early, which is not a failure. */
function endedByReader(stop: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const end = () => ended.abort();
  if (stop.aborted) end();
  stop.addEventListener("abort", end, { once: true });
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    end();
  });
  return ended.signal;
}

function listOf(value: string | boolean | undefined): string[] {
  return String(value ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
