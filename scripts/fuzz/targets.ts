/** All fuzz targets: every parser that reads untrusted input. */
import { apiTargets } from "./api.ts";
import { deliverabilityTargets } from "./deliverability.ts";
import { mailTargets } from "./mail.ts";
import { protocolTargets } from "./protocols.ts";
import { domainReports } from "./reports.ts";
import { submitted } from "./submitted.ts";
import type { Target } from "./target.ts";

export const targets: readonly Target[] = [
  ...mailTargets,
  ...deliverabilityTargets,
  submitted,
  domainReports,
  ...protocolTargets,
  ...apiTargets,
];
