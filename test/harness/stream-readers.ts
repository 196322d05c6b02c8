/** Stream readers that disconnect at random and resume from their last cursor, and writers that produce events for them. */
import { setTimeout as delay } from "node:timers/promises";
import { call } from "./program.ts";
import { openStream, type StreamForm } from "./streams.ts";

export type Reader = {
  /** Number and id of every received event, in order, across all connections. After a cut of the log, without the lost events. */
  seen: { number: string; id: string }[];
  /** How often the reader got the error of a cut log. */
  resets(): number;
  connections(): number;
  /** Unexpected stream errors. */
  wrong: string[];
  stop(): Promise<void>;
};

export type Target = { url(): string; key: string };

const forms: StreamForm[] = ["lines", "sse", "connect"];
/** Codes that a reader may get while programs and databases fail. It reconnects. */
const expectedCodes = new Set(["ok", "lost", "unavailable"]);

export function startReader(target: Target, stayFor: { messages: number }): Reader {
  const seen: Reader["seen"] = [];
  const wrong: string[] = [];
  let connections = 0;
  let resets = 0;
  let running = true;
  let leave = () => {};

  /** Forgets the events after the cursor that the error names. False for another error. */
  function resetAfter(message: string): boolean {
    const [, cursor] = /Resume from cursor (\S+);/.exec(message) ?? [];
    const last = seen.findIndex(({ number }) => number === cursor);
    if (cursor !== "0" && last < 0) return false;
    resets++;
    seen.splice(last + 1);
    return true;
  }

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
    if (!running) leave();
    const { code, message } = await stream.ended;
    if (!expectedCodes.has(code) && !resetAfter(message)) wrong.push(`${code}: ${message}`);
  }
  const reading = (async () => {
    while (running) {
      await readOnce().catch((error: Error) => {
        // fetch throws TypeError when a connection was refused or lost.
        if (error.name !== "TypeError") wrong.push(`${error.name}: ${error.message}`);
      });
      await delay(50);
    }
  })();
  return {
    seen,
    wrong,
    connections: () => connections,
    resets: () => resets,
    async stop() {
      running = false;
      leave();
      await reading;
    },
  };
}

export type Writer = { accepted(): number; wrong: string[]; stop(): Promise<void> };

/** Sends one email after another to simulated recipients. Each accepted email ends in one event. */
export function startWriter(target: Target): Writer {
  const wrong: string[] = [];
  let accepted = 0;
  let running = true;
  const writing = (async () => {
    for (let n = 0; running; n++) {
      const to = [`${n % 5 === 0 ? "bounced" : "delivered"}@there.test`];
      const email = { from: "shop@example.test", to, subject: "Hello", body: "Hi", async: true };
      const answer = await call(target.url(), "EmailService/SendEmail", email, { key: target.key }).catch(
        () => undefined,
      );
      if (answer?.status === 200) accepted++;
      else if (answer && answer.body.code !== "unavailable") wrong.push(JSON.stringify(answer.body));
      // The readers need a steady stream of events, not a service under full load.
      await delay(answer ? 15 : 100);
    }
  })();
  return {
    wrong,
    accepted: () => accepted,
    async stop() {
      running = false;
      await writing;
    },
  };
}
