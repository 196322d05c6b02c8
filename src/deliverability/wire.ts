/** Converts checks to the contract's messages, for DeliverabilityService. */
import { DeliverabilityResult, MailReceiver } from "../gen/v1/deliverability_pb.ts";
import type { MailReceiver as Receiver } from "./rules/demands.ts";
import type { Result } from "./rules/facts.ts";
import type { Check } from "./rules/judge.ts";

export const resultOnWire: Record<Result, DeliverabilityResult> = {
  pass: DeliverabilityResult.PASS,
  warn: DeliverabilityResult.WARN,
  fail: DeliverabilityResult.FAIL,
  unknown: DeliverabilityResult.UNKNOWN,
  not_needed: DeliverabilityResult.NOT_NEEDED,
};

const receiverOnWire: Record<Receiver, MailReceiver> = {
  gmail: MailReceiver.GMAIL,
  yahoo: MailReceiver.YAHOO,
  microsoft: MailReceiver.MICROSOFT,
};

export function checkOnWire({ id, title, result, found, fix = "", demands, records = [] }: Check) {
  return {
    id,
    title,
    result: resultOnWire[result],
    found,
    fix,
    records,
    demands: demands.map((demand) => ({ ...demand, receiver: receiverOnWire[demand.receiver] })),
  };
}
