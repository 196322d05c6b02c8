/** The client that users construct. It has one property per noun of the API. */
import { Audit } from "./audit.ts";
import { createCall } from "./call.ts";
import { Domains } from "./domains.ts";
import { Emails } from "./emails.ts";
import { Events } from "./events.ts";
import { Inbound } from "./inbound.ts";
import { Keys } from "./keys.ts";
import { Queue } from "./queue.ts";
import { Reports } from "./reports.ts";
import { type PosthornOptions, readSettings } from "./settings.ts";
import { Stats } from "./stats.ts";
import { createOpenStream } from "./stream.ts";
import { Suppressions } from "./suppressions.ts";
import { Webhooks } from "./webhooks.ts";
import { Workspaces } from "./workspaces.ts";

export class Posthorn {
  readonly emails: Emails;
  readonly domains: Domains;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly keys: Keys;
  readonly suppressions: Suppressions;
  readonly inbound: Inbound;
  readonly queue: Queue;
  readonly stats: Stats;
  readonly reports: Reports;
  readonly workspaces: Workspaces;
  readonly audit: Audit;

  constructor(options: PosthornOptions = {}) {
    const settings = readSettings(options);
    const call = createCall(settings);
    const open = createOpenStream(settings);
    this.emails = new Emails(call, open, settings);
    this.domains = new Domains(call);
    this.events = new Events(call, open);
    this.webhooks = new Webhooks(call);
    this.keys = new Keys(call);
    this.suppressions = new Suppressions(call);
    this.inbound = new Inbound(call);
    this.queue = new Queue(call);
    this.stats = new Stats(call);
    this.reports = new Reports(call);
    this.workspaces = new Workspaces(call);
    this.audit = new Audit(call);
  }
}
