/** posthorn events: the log of a workspace, a line an event, from a cursor to its end or live. */
import { setTimeout as delay } from "node:timers/promises";
import { Problem } from "../../rules/problem.ts";
import type { Command } from "../command.ts";
import { showEvent } from "./event-line.ts";
import { workspaceOption } from "./keys.ts";
import { type StreamAnswer, urlOption, withReach } from "./reach.ts";

export const events: Command = {
  name: "events",
  summary: "Print what happened to emails and domains, oldest first; with --follow also what happens from now on.",
  options: {
    follow: { type: "boolean", help: "stay and print each new event, until Ctrl-C" },
    cursor: { type: "string", help: "start after this one; latest: new events only", value: "0" },
    types: { type: "string", help: "only these, comma list: email.delivered,email.bounced" },
    email: { type: "string", help: "only events of the email with this id" },
    workspace: workspaceOption,
    url: urlOption,
    json: { type: "boolean", help: "one JSON object per line, with its cursor" },
  },
  async run(input) {
    const { options } = input;
    const follow = options.follow === true;
    const ended = endedByReader(input.stop);
    const print = (message: StreamAnswer) => {
      if (message.event)
        process.stdout.write(
          options.json ? `${JSON.stringify(message)}\n` : `${showEvent(message.cursor, message.event)}\n`,
        );
    };
    const request = {
      cursor: String(options.cursor ?? "0"),
      types: listOf(options.types),
      emailId: String(options.email ?? ""),
      follow,
    };
    await withReach({ ...input, stop: ended }, async (reach) => {
      for (;;) {
        try {
          for await (const message of reach.events(request, ended)) {
            print(message);
            request.cursor = message.cursor;
          }
          if (!follow) return;
        } catch (error) {
          if (ended.aborted) return;
          if (!follow || !passes(error)) throw error;
          process.stderr.write(`${(error as Error).message} Going on after ${request.cursor} …\n`);
        }
        await delay(1000, undefined, { signal: ended }).catch(() => {});
        if (ended.aborted) return;
      }
    }).catch((error) => {
      if (!ended.aborted) throw error;
    });
  },
};

/** Another connection may help: the server stops for a moment, or the line was cut. */
function passes(error: unknown): boolean {
  return error instanceof Problem && ["unavailable", "resource_exhausted", "canceled"].includes(error.code);
}

/** Aborted with `stop`, or by a reader that closes the pipe early, such as head, which is no failure. */
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
