/** Converts counts, groups, alerts and settings to messages of the contract, and checks changes of settings. Called by service.ts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type {
  RateAlertChange,
  StatsAlertSchema,
  StatsCountsSchema,
  StatsSettingsSchema,
  UpdateStatsSettingsRequest,
} from "../gen/v1/stats_pb.ts";
import type { Violation } from "../ops/problem.ts";
import { type AlertSetting, type Figure, settingOf } from "./rules/alerts.ts";
import { ratesOf } from "./rules/rates.ts";
import { type Counts, quantile } from "./rules.ts";
import type { RaisedAlert } from "./store/alerts.ts";
import type { SettingsChange, StatsSettings } from "./store/settings.ts";

/** The contract's numbers have 32 bits. */
const maxCount = 2 ** 31 - 1;

export function countsOnWire({ times, ...counts }: Counts): MessageInitShape<typeof StatsCountsSchema> {
  const capped = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Math.min(count, maxCount)]));
  const rates = ratesOf(counts);
  return {
    ...capped,
    deliveryP50Ms: quantile(times, 0.5),
    deliveryP95Ms: quantile(times, 0.95),
    deliveredRate: rates.delivered,
    bounceRate: rates.bounced,
    complaintRate: rates.complained,
  };
}

export function alertOnWire({ raisedAt, ...alert }: RaisedAlert): MessageInitShape<typeof StatsAlertSchema> {
  return { ...alert, raisedAt: timestampFromDate(raisedAt) };
}

export function settingsOnWire({ metadataKeys, alerts }: StatsSettings): MessageInitShape<typeof StatsSettingsSchema> {
  return {
    metadataKeys,
    bounceAlert: settingOnWire("bounces", alerts.bounces),
    complaintAlert: settingOnWire("complaints", alerts.complaints),
  };
}

function settingOnWire(figure: Figure, setting: AlertSetting) {
  const { disabled, rate, least } = settingOf(figure, setting);
  return { disabled, rate, minimumRecipients: least };
}

const maxKeys = 3;
/** As long as a metadata key of an email can be. */
const maxKeyLength = 64;

export function changeFrom(request: UpdateStatsSettingsRequest, problems: Violation[]): SettingsChange {
  return {
    metadataKeys: request.metadataKeys && keysFrom(request.metadataKeys.keys, problems),
    bounces: request.bounceAlert && settingFrom("bounceAlert", request.bounceAlert, problems),
    complaints: request.complaintAlert && settingFrom("complaintAlert", request.complaintAlert, problems),
  };
}

function keysFrom(keys: readonly string[], problems: Violation[]): string[] {
  const wrong = (description: string) => problems.push({ field: "metadataKeys.keys", description });
  if (keys.length > maxKeys) wrong(`has ${keys.length} keys, at most ${maxKeys} are allowed`);
  if (keys.some((key) => key === "" || key.length > maxKeyLength))
    wrong(`each key has 1 to ${maxKeyLength} characters, as in the metadata of an email`);
  // PostgreSQL cannot store it, and no email has such a key.
  if (keys.some((key) => key.includes("\0"))) wrong("must not contain the character NUL");
  if (new Set(keys).size < keys.length) wrong("has a key twice");
  return [...keys];
}

function settingFrom(
  field: string,
  { disabled, rate, minimumRecipients }: RateAlertChange,
  problems: Violation[],
): AlertSetting {
  if (!(rate >= 0 && rate <= 1))
    problems.push({ field: `${field}.rate`, description: "must be from 0 to 1, 0.003 for 0.3 %" });
  if (minimumRecipients < 0)
    problems.push({ field: `${field}.minimumRecipients`, description: "must not be negative; 0 sets the default" });
  return {
    ...(disabled ? { disabled } : {}),
    ...(rate > 0 ? { rate } : {}),
    ...(minimumRecipients > 0 ? { least: minimumRecipients } : {}),
  };
}
