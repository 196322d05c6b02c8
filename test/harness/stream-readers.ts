/** Readers that disconnect at random and come back with the last cursor that they saw, as real ones do; and writers of events for them. */
import { setTimeout as delay } from "node:timers/promises";
import { call } from "./program.ts";
import { openStream, type StreamForm } from "./streams.ts";

export type Reader = {
  /** Number and id of every event in the order of its coming, through all connections. */
  seen: { number: string; id: string }[];
  connections(): number;
  /** Ends that no reader should see. */
  wrong: string[];
  stop(): Promise<void>;
};

export type Target = { url(): string; key: string };

const forms: StreamForm[] = ["lines", "sse", "connect"];
/** What a reader may meet while programs and databases die: it comes again. */
const passing = new Set(["ok", "lost", "unavailable"]);

export function startReader(target: Target, stayFor: { messages: number }): Reader {
  const seen: Reader["seen"] = [];
  const wrong: string[] = [];
  let connections = 0;
  let going = true;
  let leave = () => {};

  async function readOnce(): Promise<void> {
    let left = 1 + Math.floor(Math.random() * stayFor.messages);
    const stream = await openStream(target.url(), {
      key: target.key,
      form: forms[connections++ % forms.length],
      request: { cursor: seen.at(-1)?.number ?? "0" },
      onMessage({ cursor, event }) {
        if (left-- <= 0) return leave();
        if (event) seen.push({ number: cursor, id: event.id });
      },
    });
    leave = stream.leave;
    if (!going) leave();
    const { code, message } = await stream.ended;
    if (!passing.has(code)) wrong.push(`${code}: ${message}`);
  }
  const reading = (async () => {
    while (going) {
      await readOnce().catch((error: Error) => {
        // fetch says TypeError for a connection that was refused or lost.
        if (error.name !== "TypeError") wrong.push(`${error.name}: ${error.message}`);
      });
      await delay(50);
    }
  })();
  return {
    ...{ seen, wrong, connections: () => connections },
    async stop() {
      going = false;
      leave();
      await reading;
    },
  };
}

export type Writer = { accepted(): number; wrong: string[]; stop(): Promise<void> };

/** Sends email after email to simulated recipients: each accepted one ends in an event of its own. */
export function startWriter(target: Target): Writer {
  const wrong: string[] = [];
  let accepted = 0;
  let going = true;
  const writing = (async () => {
    for (let n = 0; going; n++) {
      const to = [`${n % 5 === 0 ? "bounced" : "delivered"}@there.test`];
      const email = { from: "shop@example.test", to, subject: "Hello", body: "Hi", async: true };
      const answer = await call(target.url(), "EmailService/SendEmail", email, { key: target.key }).catch(
        () => undefined,
      );
      if (answer?.status === 200) accepted++;
      else if (answer && answer.body.code !== "unavailable") wrong.push(JSON.stringify(answer.body));
      // A steady stream of events is what the readers need, not a service at its limit.
      await delay(answer ? 15 : 100);
    }
  })();
  return {
    ...{ wrong, accepted: () => accepted },
    async stop() {
      going = false;
      await writing;
    },
  };
}
