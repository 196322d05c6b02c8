/** Faults of receivers and of DNS under load: each recipient must get the right outcome. */
import type { Expected } from "../harness/ledger.ts";
import { type Action, on, type Script } from "../harness/sink-script.ts";
import { mailDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { Fault } from "./fault.ts";

type Misbehavior = {
  name: string;
  promise: string;
  /** The script calls `hit` each time it misbehaves. */
  script(hit: () => void): Script;
  times: number;
  to?: (key: string, n: number) => string[];
  expected?: Expected;
  env?: Record<string, string>;
};

/** Misbehaves at every nth step, so that the test sees the others continue. */
function oneIn(n: number, hit: () => void, action: Action): () => Action | undefined {
  let count = 0;
  return () => (++count % n === 0 ? done(hit, action) : undefined);
}

function done(hit: () => void, action: Action): Action {
  hit();
  return action;
}

const misbehaviors: Misbehavior[] = [
  {
    name: "the receiver answers one byte a second",
    promise: "delivered; mail on other connections is not delayed",
    times: 5,
    script: (hit) => on("dot", oneIn(20, hit, { reply: "250 2.0.0 Queued", dripMs: 1000 })),
  },
  {
    name: "the receiver drops the connection in DATA",
    promise: "retried and delivered once",
    times: 30,
    script: (hit) => on("bytes", oneIn(3, hit, "reset")),
  },
  {
    name: "the receiver drops the connection after the final dot",
    promise: "retried, and flagged as a possible duplicate",
    times: 30,
    script: (hit) => on("dot", oneIn(3, hit, "reset")),
  },
  {
    name: "the receiver replies 421 to DATA",
    promise: "retried and delivered once",
    times: 30,
    script: (hit) => on("data", oneIn(3, hit, { reply: "421 4.3.2 Shutting down", after: "close" })),
  },
  {
    name: "the receiver greylists",
    promise: "delivered at the second attempt",
    times: 30,
    script: (hit) =>
      on("rcpt", ({ seen }) => (seen === 1 ? done(hit, "451 4.7.1 Greylisted, try again later") : undefined)),
  },
  {
    name: "the receiver replies 4xx until the email expires",
    promise: "bounced at expiry; other mail is delivered",
    times: 30,
    env: { POSTHORN_RETRY_FOR_MS: "20000", POSTHORN_RETRY_SCHEDULE_MS: "500" },
    to: (key, n) => [n % 5 === 0 ? `never-${key}@there.test` : `${key}@there.test`],
    expected: (address) => (address.startsWith("never-") ? "email.bounced" : "email.delivered"),
    script: (hit) =>
      on("rcpt", ({ recipient }) => (recipient.startsWith("never-") ? done(hit, "452 4.2.2 Mailbox full") : undefined)),
  },
  {
    name: "the receiver answers each recipient differently",
    promise: "each recipient gets its own outcome",
    times: 30,
    to: (key) => [`${key}@there.test`, `gone-${key}@there.test`, `later-${key}@there.test`],
    expected: (address) => (address.startsWith("gone-") ? "email.bounced" : "email.delivered"),
    script: (hit) =>
      on("rcpt", ({ recipient, seen }) => {
        if (recipient.startsWith("gone-")) return done(hit, "550 5.1.1 No such user");
        return recipient.startsWith("later-") && seen === 1 ? "451 4.2.1 Try again" : undefined;
      }),
  },
];

export const receivers: Fault[] = [
  ...misbehaviors.map((one) => ({
    name: one.name,
    promise: one.promise,
    times: one.times,
    inject: (times: number, progress: Progress) => misbehave(one, times, progress),
  })),
  {
    name: "DNS: timeout, SERVFAIL, NXDOMAIN, null MX, private address",
    promise: "deferred until DNS answers; bounced; no connection to a private address",
    times: 20,
    inject: troubleDns,
  },
];

async function misbehave(one: Misbehavior, times: number, progress: Progress): Promise<Findings> {
  const { to, expected, env } = one;
  let hits = 0;
  const script = one.script(() => hits++);
  // The outcome of rejected addresses must be the same for all emails, so the script runs from the start.
  const testbed = expected ? { env, sink: { script } } : { env };
  const found = await underLoad(
    { testbed, load: to ? { to } : {}, expected },
    async ({ testbed: { sink }, injectFault }) => {
      await injectFault(
        async () => {
          sink.script = script;
          await until("the receiver to misbehave", () => hits >= times);
        },
        async () => {
          progress(`${hits} times`);
          if (!expected) sink.script = () => undefined;
        },
      );
    },
  );
  return { ...found, injected: hits };
}

const outcomes: Record<string, ReturnType<Expected>> = {
  "silent.test": "email.delivered",
  "failing.test": "email.delivered",
  "nowhere.test": "email.bounced",
  "null.test": "email.bounced",
  "private.test": "email.bounced",
};

async function troubleDns(times: number, progress: Progress): Promise<Findings> {
  const names = Object.keys(outcomes);
  const domainOf = (n: number) => (n % 2 === 0 ? names[(n / 2) % names.length]! : "there.test");
  let sent = 0;
  const found = await underLoad(
    {
      load: {
        to: (key, n) => {
          if (n % 2 === 0) sent++;
          return [`${key}@${domainOf(n)}`];
        },
      },
      expected: (address) => outcomes[address.split("@")[1]!] ?? "email.delivered",
      start: async () => setTrouble(await startTestbed()),
    },
    async ({ testbed, injectFault, whenSettled }) => {
      await injectFault(
        async () => await until("mail to troubled domains", () => sent >= times),
        async () => {
          for (const name of ["silent.test", "failing.test"]) testbed.dns.behave(name, undefined);
          progress(`${sent} emails to ${names.length} troubled domains`);
        },
      );
      whenSettled(() =>
        testbed.sink.commands.some(({ line }) => /private\.test|null\.test|nowhere\.test/.test(line))
          ? ["Posthorn connected to a server that it must not use"]
          : [],
      );
    },
  );
  return { ...found, injected: sent };
}

function setTrouble(testbed: Testbed): Testbed {
  const { dns } = testbed;
  dns.zone("test");
  for (const name of ["silent.test", "failing.test"]) mailDomain(dns, name);
  dns.behave("silent.test", "timeout");
  dns.behave("failing.test", "servfail");
  dns.set("null.test", "MX", "0 .");
  dns.set("private.test", "MX", "10 mx.private.test");
  dns.set("mx.private.test", "A", "10.0.0.1");
  return testbed;
}
