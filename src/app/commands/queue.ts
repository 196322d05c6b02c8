/** posthorn queue: lists a workspace's queued mail by destination, and retries, pauses, resumes or purges a destination. */
import { create, fromJson, type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { QueueService } from "../../gen/v1/queue_pb.ts";
import { type Call, CallCancellation } from "../../http/call.ts";
import { commandKeyId } from "../../http/caller.ts";
import { silentLog } from "../../ops/log.ts";
import { createWake } from "../../postgres/wake.ts";
import { createQueueService } from "../../queue/service.ts";
import { type Command, table, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { createApi, urlOption } from "./api-client.ts";
import { workspaceFrom, workspaceOption } from "./keys.ts";
import { withStore } from "./with-store.ts";

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
type Method = keyof (typeof QueueService)["method"];
type CallMethod = (method: Method, request: JsonObject) => Promise<JsonObject>;

const verbs = {
  retry: "retryDestination",
  pause: "pauseDestination",
  resume: "resumeDestination",
  purge: "purgeDestination",
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
    workspace: workspaceOption,
    url: urlOption,
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config }) {
    const given = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => options[verb] !== undefined);
    if (given.length > 1) throw new UsageError(`Use only one of ${given.map((verb) => `--${verb}`).join(", ")}.`);
    const [verb] = given;
    await withQueue({ options, config }, async (call) => {
      if (verb) {
        const answer = await call(verbs[verb], { destination: String(options[verb]) });
        process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `${answer.message}\n`);
        return;
      }
      const rows = await listAll(call, String(options.search ?? ""));
      if (options.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
      else process.stdout.write(rows.length > 0 ? show(rows) : "The queue is empty.\n");
    });
  },
};

async function listAll(call: CallMethod, search: string): Promise<WireDestination[]> {
  const all: WireDestination[] = [];
  for (let pageToken = ""; ; ) {
    const page = (await call("listDestinations", { pageSize: 100, pageToken, search })) as unknown as {
      data: WireDestination[];
      nextPageToken: string;
    };
    all.push(...page.data);
    if (page.nextPageToken === "") return all;
    pageToken = page.nextPageToken;
  }
}

function show(rows: WireDestination[]): string {
  const time = (text: string | undefined) => text?.replace(/\.\d+Z$/, "Z") ?? "";
  const head = "DESTINATION,SITE,STATE,QUEUED,DELAYED,SCHEDULED,IN FLIGHT,OLDEST,NEXT ATTEMPT,LAST REPLY".split(",");
  const lines = rows.map((row) => [
    row.destination,
    row.mxSite,
    row.stalledSince
      ? `no answer since ${time(row.stalledSince)}`
      : row.state.replace("DESTINATION_STATE_", "").toLowerCase().replaceAll("_", " "),
    String(row.queued),
    String(row.delayed ?? ""),
    String(row.scheduled ?? ""),
    String(row.inFlight),
    time(row.oldestAt),
    time(row.nextAttemptAt),
    row.lastReply.slice(0, 80),
  ]);
  return table([head, ...lines], "");
}

/** With a URL, calls that instance's API. Otherwise runs the API's handlers on the local store, whether the program runs or not. */
async function withQueue(
  { options, config }: { options: Record<string, string | boolean | undefined>; config: () => Config },
  work: (call: CallMethod) => Promise<void>,
): Promise<void> {
  const url = String(options.url ?? process.env.POSTHORN_URL ?? "").trim();
  if (url !== "") {
    if (options.workspace !== undefined)
      throw new UsageError(
        "--workspace works only on the local data directory. With a URL, the key in POSTHORN_KEY selects the workspace.",
      );
    const api = createApi({ url, key: (process.env.POSTHORN_KEY ?? "").trim() });
    return await work((method, request) =>
      api.call<JsonObject>(`QueueService/${method[0]!.toUpperCase()}${method.slice(1)}`, request),
    );
  }
  await withStore(config(), async ({ sql, nowMs, clock }) => {
    const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
    const wake = createWake({ sql, log: silentLog() });
    const { handlers } = createQueueService({ sql, wake, clock });
    const call: Call = {
      caller: { workspaceId, keyId: commandKeyId, permission: "full", test: false },
      requestId: "",
      cancellation: new CallCancellation(),
      timeLeftMs: () => undefined,
      header: () => undefined,
      beginWrite() {},
    };
    try {
      await work(async (method, request) => {
        const { input, output } = QueueService.method[method];
        const handler = handlers[method] as (request: unknown, call: Call) => Promise<MessageInitShape<typeof output>>;
        const answer = await handler(fromJson(input, request), call);
        return toJson(output, create(output, answer), { alwaysEmitImplicit: true }) as JsonObject;
      });
    } finally {
      await wake.stop();
    }
  });
}
