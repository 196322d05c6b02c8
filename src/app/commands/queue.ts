/** posthorn queue: the outgoing mail of a workspace by destination, and its hastening, holding and giving up. */
import { create, fromJson, type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import type { Call } from "../../api/call.ts";
import { CallLife } from "../../api/life.ts";
import { createQueueService } from "../../api/queue.ts";
import { QueueService } from "../../gen/v1/queue_pb.ts";
import { silentLog } from "../../ops/log.ts";
import { createWake } from "../../store/wake.ts";
import { type Command, table, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import { workspaceFrom, workspaceOption } from "./keys.ts";
import { urlOption } from "./reach.ts";
import { createApi } from "./reach-api.ts";
import { withStore } from "./with-store.ts";

type Wire = {
  destination: string;
  mxSite: string;
  state: string;
  queued: number;
  inFlight: number;
  oldestAt?: string;
  nextAttemptAt?: string;
  lastReply: string;
};
type Method = keyof (typeof QueueService)["method"];
type Ask = (method: Method, request: JsonObject) => Promise<JsonObject>;

const verbs = {
  retry: "retryDestination",
  pause: "pauseDestination",
  resume: "resumeDestination",
  purge: "purgeDestination",
} as const;

export const queue: Command = {
  name: "queue",
  summary: "Show what mail waits for which destination; retry, pause, resume or purge one.",
  options: {
    retry: { type: "string", help: "try what waits for this destination now" },
    pause: { type: "string", help: "hold mail for this destination back" },
    resume: { type: "string", help: "let it go again" },
    purge: { type: "string", help: "give up what waits for this destination: it ends as failed" },
    search: { type: "string", help: "only destinations that contain this text" },
    workspace: workspaceOption,
    url: urlOption,
    json: { type: "boolean", help: "one JSON object per line" },
  },
  async run({ options, config }) {
    const asked = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => options[verb] !== undefined);
    if (asked.length > 1) throw new UsageError(`One at a time: ${asked.map((verb) => `--${verb}`).join(" or ")}.`);
    const [verb] = asked;
    await withQueue({ options, config }, async (ask) => {
      if (verb) {
        const answer = await ask(verbs[verb], { destination: String(options[verb]) });
        process.stdout.write(options.json ? `${JSON.stringify(answer)}\n` : `${answer.message}\n`);
        return;
      }
      const rows = await listAll(ask, String(options.search ?? ""));
      if (options.json) for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
      else process.stdout.write(rows.length > 0 ? show(rows) : "No mail waits.\n");
    });
  },
};

async function listAll(ask: Ask, search: string): Promise<Wire[]> {
  const all: Wire[] = [];
  for (let pageToken = ""; ; ) {
    const page = (await ask("listDestinations", { pageSize: 100, pageToken, search })) as unknown as {
      data: Wire[];
      nextPageToken: string;
    };
    all.push(...page.data);
    if (page.nextPageToken === "") return all;
    pageToken = page.nextPageToken;
  }
}

function show(rows: Wire[]): string {
  const time = (text: string | undefined) => text?.replace(/\.\d+Z$/, "Z") ?? "";
  const head = ["DESTINATION", "SITE", "STATE", "WAITING", "UNDER WAY", "OLDEST", "NEXT ATTEMPT", "LAST REPLY"];
  const lines = rows.map((row) => [
    row.destination,
    row.mxSite,
    row.state.replace("DESTINATION_STATE_", "").toLowerCase().replaceAll("_", " "),
    String(row.queued),
    String(row.inFlight),
    time(row.oldestAt),
    time(row.nextAttemptAt),
    row.lastReply.slice(0, 80),
  ]);
  return table([head, ...lines], "");
}

/** Elsewhere by its API, with a key; here by the API's own handlers on the store, whether the program runs or not. */
async function withQueue(
  { options, config }: { options: Record<string, string | boolean | undefined>; config: () => Config },
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const url = String(options.url ?? process.env.POSTHORN_URL ?? "").trim();
  if (url !== "") {
    if (options.workspace !== undefined)
      throw new UsageError(
        "--workspace is for this data directory; elsewhere, the key in POSTHORN_KEY says which one.",
      );
    const api = createApi({ url, key: (process.env.POSTHORN_KEY ?? "").trim() });
    return await work((method, request) =>
      api.call<JsonObject>(`QueueService/${method[0]!.toUpperCase()}${method.slice(1)}`, request),
    );
  }
  await withStore(config(), async ({ sql, nowMs }) => {
    const workspaceId = await workspaceFrom(sql, options.workspace, nowMs());
    const wake = createWake({ sql, log: silentLog() });
    const { handlers } = createQueueService({ sql, wake, clock: { nowMs, set() {} } });
    const call: Call = {
      caller: { workspaceId, keyId: "", permission: "full", domain: undefined, test: false },
      requestId: "",
      life: new CallLife(),
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
