/** The client that users construct. It has one property per noun of the API. */
import { createCall } from "./call.ts";
import { Domains } from "./domains.ts";
import { Emails } from "./emails.ts";
import { Events } from "./events.ts";
import { Inbound } from "./inbound.ts";
import { Keys } from "./keys.ts";
import { type PosthornOptions, readSettings } from "./settings.ts";
import { createOpenStream } from "./stream.ts";
import { Suppressions } from "./suppressions.ts";
import { Webhooks } from "./webhooks.ts";

export class Posthorn {
  readonly emails: Emails;
  readonly domains: Domains;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly keys: Keys;
  readonly suppressions: Suppressions;
  readonly inbound: Inbound;

  constructor(options: PosthornOptions = {}) {
    const settings = readSettings(options);
    const call = createCall(settings);
    this.emails = new Emails(call);
    this.domains = new Domains(call);
    this.events = new Events(call, createOpenStream(settings));
    this.webhooks = new Webhooks(call);
    this.keys = new Keys(call);
    this.suppressions = new Suppressions(call);
    this.inbound = new Inbound(call);
  }
}
