/** When an alert about the bounce or complaint rate of the last 24 hours is raised, and when it is over. Called by ../alert-loop.ts and ../service.ts. */
import type { Counts } from "../rules.ts";
import { acceptedBy, answeredBy, rateLimits } from "./rates.ts";

export const figures = ["bounces", "complaints"] as const;
export type Figure = (typeof figures)[number];

/** What a workspace set; missing fields have the defaults. */
export type AlertSetting = { disabled?: boolean; rate?: number; least?: number };
export type AlertSettings = Record<Figure, AlertSetting>;

export const alertDefaults: Readonly<Record<Figure, { rate: number; least: number }>> = {
  bounces: { rate: rateLimits.bounceLimit, least: 100 },
  complaints: { rate: rateLimits.complaintLimit, least: 300 },
};

export function settingOf(figure: Figure, { disabled = false, rate, least }: AlertSetting) {
  return { disabled, rate: rate ?? alertDefaults[figure].rate, least: least ?? alertDefaults[figure].least };
}

/** One bounce of three recipients is no trend, however small the minimum is that a workspace sets. */
const leastCases = 3;
/** An alert is over below these shares of the threshold and of the minimum; otherwise a rate at the threshold would raise it again and again. */
const recovery = { rate: 0.8, recipients: 0.5 };

export type Alert = {
  figure: Figure;
  rate: number;
  threshold: number;
  count: number;
  recipients: number;
  message: string;
};

/** `counts` are those of the last 24 hours, without mail of test keys. "keep": raised alerts stay raised, and others are not raised. */
export function judge(
  figure: Figure,
  counts: Pick<Counts, "delivered" | "sent" | "bounced" | "complained">,
  setting: AlertSetting,
): { raise: Alert } | "recover" | "keep" {
  const { disabled, rate: threshold, least } = settingOf(figure, setting);
  const count = figure === "bounces" ? counts.bounced : counts.complained;
  const recipients = figure === "bounces" ? answeredBy(counts) : acceptedBy(counts);
  const rate = recipients === 0 ? 0 : count / recipients;
  if (!disabled && recipients >= least && count >= leastCases && rate > threshold)
    return {
      raise: {
        figure,
        rate,
        threshold,
        count,
        recipients,
        message: sentence(figure, { count, recipients, rate, threshold }),
      },
    };
  const isOver = disabled || rate < recovery.rate * threshold || recipients < recovery.recipients * least;
  return isOver ? "recover" : "keep";
}

function sentence(figure: Figure, { count, recipients, rate, threshold }: Omit<Alert, "figure" | "message">): string {
  const figuresText =
    figure === "bounces"
      ? `${number(count)} of ${number(recipients)} recipients bounced`
      : `${number(count)} complaints about ${number(recipients)} delivered recipients`;
  return `${figuresText} in the last 24 hours (${percent(rate)}). The threshold is ${percent(threshold)}.`;
}

function number(count: number): string {
  return count.toLocaleString("en");
}

/** Two digits: 0.31 %, 5.2 %, 12 %. */
function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`;
}
