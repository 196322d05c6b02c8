/** posthorn queue: lists a workspace's queued mail by destination, and retries, pauses, resumes or purges a destination. */
import { type Command, UsageError } from "../command.ts";
import { fittedTable, jsonLine, plain, write } from "../output.ts";
import { confirm, yesOption } from "./confirm.ts";
import { constantText, pages, timeText } from "./listing.ts";
import { nameOf } from "./target.ts";
import { apiOptions, targetOf, withTarget } from "./with-api.ts";

type WireDestination = {
  destination: string;
  mxSite: string;
  state: string;
  queued: number;
  inFlight: number;
  /** Absent in the answer of an earlier version. */
  scheduled?: number;
  delayed?: number;
  oldestAt?: string;
  nextAttemptAt?: string;
  lastReply: string;
  stalledSince?: string;
};

const verbs = {
  retry: "QueueService/RetryDestination",
  pause: "QueueService/PauseDestination",
  resume: "QueueService/ResumeDestination",
  purge: "QueueService/PurgeDestination",
} as const;

export const queue: Command = {
  name: "queue",
  summary: "Show queued mail by destination; retry, pause, resume or purge a destination.",
  options: {
    retry: { type: "string", help: "retry the queued mail of this destination now" },
    pause: { type: "string", help: "stop sending to this destination" },
    resume: { type: "string", help: "send to this destination again" },
    purge: { type: "string", help: "fail the queued mail of this destination without sending it" },
    search: { type: "string", help: "only destinations that contain this text" },
    yes: { ...yesOption, help: "do not ask before --purge" },
    ...apiOptions,
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run(input) {
    const { options } = input;
    const given = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => options[verb] !== undefined);
    if (given.length > 1) throw new UsageError(`Use only one of ${given.map((verb) => `--${verb}`).join(", ")}.`);
    const [verb] = given;
    const target = await targetOf(input);
    if (verb === "purge")
      await confirm(`This fails the queued mail to ${options.purge} at ${nameOf(target)} without sending it.`, {
        options,
        scriptsNeedNoYes: true,
      });
    await withTarget(input, target, async (api) => {
      if (verb) {
        const answer = await api.call<{ message: string }>(verbs[verb], { destination: String(options[verb]) });
        return await write(options.json ? jsonLine(answer) : `${plain(answer.message)}\n`);
      }
      const rows: WireDestination[] = [];
      const request = { search: String(options.search ?? "") };
      for await (const row of pages<WireDestination>(api, "QueueService/ListDestinations", request)) rows.push(row);
      if (options.json) for (const row of rows) await write(jsonLine(row));
      else await write(rows.length > 0 ? show(rows) : "The queue is empty.\n");
    });
  },
};

function show(rows: WireDestination[]): string {
  const head = "DESTINATION,SITE,STATE,QUEUED,DELAYED,SCHEDULED,IN FLIGHT,OLDEST,NEXT ATTEMPT,LAST REPLY".split(",");
  const lines = rows.map((row) => [
    row.destination,
    row.mxSite,
    row.stalledSince ? `no answer since ${timeText(row.stalledSince)}` : constantText(row.state, "DESTINATION_STATE_"),
    String(row.queued),
    String(row.delayed ?? ""),
    String(row.scheduled ?? ""),
    String(row.inFlight),
    timeText(row.oldestAt),
    timeText(row.nextAttemptAt),
    row.lastReply.slice(0, 80),
  ]);
  return fittedTable([head, ...lines], [head.length - 1]);
}
