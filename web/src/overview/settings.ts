/** The fields of the dialog about alerts and metadata keys, as people type them, and the request that they make. settings-dialog.tsx uses them. */
import type { RateAlert, StatsSettings } from "../../../src/gen/v1/stats_pb.ts";

export type AlertFields = { isOn: boolean; percent: string; minimum: string };
export type SettingsFields = { keys: string; bounce: AlertFields; complaint: AlertFields };

export function fieldsOf({ metadataKeys, bounceAlert, complaintAlert }: StatsSettings): SettingsFields {
  return { keys: metadataKeys.join(", "), bounce: alertFields(bounceAlert), complaint: alertFields(complaintAlert) };
}

function alertFields(alert: RateAlert | undefined): AlertFields {
  if (!alert) return { isOn: false, percent: "", minimum: "" };
  const percent = String(Number((alert.rate * 100).toFixed(6)));
  return { isOn: !alert.disabled, percent, minimum: String(alert.minimumRecipients) };
}

/** An empty number is the default. Text that is no number becomes one that the server refuses with the field at fault. */
export function requestOf({ keys, bounce, complaint }: SettingsFields) {
  const list = keys.split(",").map((key) => key.trim());
  return {
    metadataKeys: { keys: list.filter((key) => key !== "") },
    bounceAlert: alertOf(bounce),
    complaintAlert: alertOf(complaint),
  };
}

function alertOf({ isOn, percent, minimum }: AlertFields) {
  const rate = numberIn(percent) / 100;
  return {
    disabled: !isOn,
    rate,
    minimumRecipients: Math.max(-1, Math.min(2 ** 31 - 1, Math.trunc(numberIn(minimum.replace(/[,\s]/g, ""))))),
  };
}

function numberIn(text: string): number {
  const trimmed = text.trim().replace(",", ".").replace(/\s*%$/, "");
  if (trimmed === "") return 0;
  const value = Number(trimmed);
  return Number.isNaN(value) ? -1 : value;
}
