/** posthorn stats: counts, rates and delivery times of a workspace's mail, locally or at another instance. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Command, UsageError } from "../command.ts";
import { type Cell, color, fittedTable, jsonLine, plain, write } from "../output.ts";
import { constantText, timeText } from "./listing.ts";
import { readChoice, readTime } from "./read-options.ts";
import { apiOptions, withApi } from "./with-api.ts";

type Counts = {
  emails: number;
  accepted: number;
  delivered: number;
  sent: number;
  bounced: number;
  complained: number;
  failed: number;
  deliveredRate?: number;
  bounceRate?: number;
  complaintRate?: number;
  deliveryP50Ms?: number;
  deliveryP95Ms?: number;
};
type Stats = JsonObject & {
  from: string;
  to: string;
  asOf: string;
  bucket: string;
  totals: Counts;
  buckets: { start: string; counts: Counts }[];
  groups: { value: string; name: string; other: boolean; counts: Counts }[];
  alerts: { message: string }[];
};

const buckets = ["hour", "six-hours", "day"];
const dimensions = ["domain", "site", "key", "metadata"];

export const stats: Command = {
  name: "stats",
  summary: "Show counts, rates and delivery times of mail: in total, by time, or grouped.",
  options: {
    from: { type: "string", help: "start: 2026-11-01, 2026-11-01T12:00:00Z, or 7d for the last week", value: "24h" },
    to: { type: "string", help: "end, not included; default: now" },
    bucket: { type: "string", help: `length of a row: ${buckets.join(", ")}; default: by the length of the range` },
    "group-by": { type: "string", help: `one row for each ${dimensions.join(", ")} instead of each time` },
    "metadata-key": { type: "string", help: "the metadata key to group by; only with --group-by metadata" },
    json: { type: "boolean", help: "print the API's response as JSON" },
    ...apiOptions,
  },
  async run(input) {
    const { options } = input;
    const request: JsonObject = {};
    const [from, to] = [readTime("from", options.from), readTime("to", options.to)];
    if (from !== undefined) request.from = from;
    if (to !== undefined) request.to = to;
    if (options.bucket !== undefined)
      request.bucket = readChoice("bucket", String(options.bucket), "STATS_BUCKET_SIZE_", buckets);
    if (options["group-by"] !== undefined)
      request.groupBy = readChoice("group-by", String(options["group-by"]), "STATS_DIMENSION_", dimensions);
    const byMetadata = request.groupBy === "STATS_DIMENSION_METADATA";
    if (byMetadata !== (options["metadata-key"] !== undefined))
      throw new UsageError("--group-by metadata and --metadata-key need each other.");
    request.metadataKey = String(options["metadata-key"] ?? "");
    await withApi(input, async (api) => {
      const answer = await api.call<Stats>("StatsService/GetStats", request);
      await write(options.json ? jsonLine(answer) : show(answer, request.groupBy !== undefined));
    });
  },
};

function show({ totals, buckets, groups, alerts, ...rest }: Stats, isGrouped: boolean): string {
  const head = ["ACCEPTED", "DELIVERED", "%", "BOUNCED", "%", "COMPLAINED", "%", "FAILED"];
  const rows: Cell[][] = isGrouped
    ? groups.map(({ value, name, other, counts }) => [
        other ? "(other)" : name || value || "(none)",
        ...cellsOf(counts),
      ])
    : buckets
        .filter(({ counts }) => !isEmpty(counts))
        .map(({ start, counts }) => [timeText(start), ...cellsOf(counts)]);
  const bucket = constantText(rest.bucket, "STATS_BUCKET_SIZE_");
  const range = `${timeText(rest.from)} to ${timeText(rest.to)}, counted up to ${timeText(rest.asOf)}`;
  const what = isGrouped ? "" : `, by ${bucket}; times without mail are left out`;
  const table = fittedTable([[isGrouped ? "GROUP" : "START", ...head], ...rows, ["total", ...cellsOf(totals)]], [0]);
  return [
    plain(`${range}${what}`),
    "",
    table.trimEnd(),
    ...(totals.deliveryP50Ms === undefined
      ? []
      : ["", `Delivery time: median ${totals.deliveryP50Ms} ms, p95 ${totals.deliveryP95Ms} ms`]),
    ...alerts.map(({ message }) => `\n${color("red", plain(message))}`),
    "",
  ].join("\n");
}

function isEmpty(counts: Counts): boolean {
  const { accepted, delivered, sent, bounced, complained, failed } = counts;
  return accepted + delivered + sent + bounced + complained + failed === 0;
}

function cellsOf(counts: Counts): string[] {
  const percent = (rate: number | undefined) => (rate === undefined ? "" : (rate * 100).toFixed(2));
  return [
    String(counts.accepted),
    String(counts.delivered + counts.sent),
    percent(counts.deliveredRate),
    String(counts.bounced),
    percent(counts.bounceRate),
    String(counts.complained),
    percent(counts.complaintRate),
    String(counts.failed),
  ];
}
