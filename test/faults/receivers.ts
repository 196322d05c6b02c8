/** Receivers that misbehave under load, and what DNS may say about them: the right outcome for each recipient. */
import type { Expected } from "../harness/ledger.ts";
import { type Action, on, type Script } from "../harness/sink.ts";
import { type Findings, type Say, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { mailDomain, startWorld, type World } from "../harness/world.ts";
import type { Fault } from "./fault.ts";

type Misbehaviour = {
  name: string;
  promise: string;
  /** Called `hit` each time it has misbehaved. */
  script(hit: () => void): Script;
  times: number;
  to?: (key: string, n: number) => string[];
  expected?: Expected;
  env?: Record<string, string>;
};

/** One in so many, so that the others can be seen to go on. */
function oneIn(n: number, hit: () => void, action: Action): () => Action | undefined {
  let count = 0;
  return () => (++count % n === 0 ? done(hit, action) : undefined);
}

function done(hit: () => void, action: Action): Action {
  hit();
  return action;
}

const misbehaviours: Misbehaviour[] = [
  {
    name: "the receiver answers one byte a second",
    promise: "delivered; mail over other connections is not held up",
    times: 5,
    script: (hit) => on("dot", oneIn(20, hit, { reply: "250 2.0.0 Queued", dripMs: 1000 })),
  },
  {
    name: "the receiver drops the connection in DATA",
    promise: "tried again and delivered once",
    times: 30,
    script: (hit) => on("bytes", oneIn(3, hit, "reset")),
  },
  {
    name: "the receiver drops the connection after the final dot",
    promise: "tried again, and flagged: it may have come twice",
    times: 30,
    script: (hit) => on("dot", oneIn(3, hit, "reset")),
  },
  {
    name: "the receiver says 421 in the middle",
    promise: "tried again and delivered once",
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
    name: "the receiver says 4xx until the email expires",
    promise: "bounced when its time is over; the others are delivered",
    times: 30,
    env: { POSTHORN_RETRY_FOR_MS: "20000", POSTHORN_RETRY_SCHEDULE_MS: "500" },
    to: (key, n) => [n % 5 === 0 ? `never-${key}@there.test` : `${key}@there.test`],
    expected: (address) => (address.startsWith("never-") ? "email.bounced" : "email.delivered"),
    script: (hit) =>
      on("rcpt", ({ recipient }) => (recipient.startsWith("never-") ? done(hit, "452 4.2.2 Mailbox full") : undefined)),
  },
  {
    name: "the receiver answers each recipient differently",
    promise: "each recipient has its own outcome",
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
  ...misbehaviours.map((one) => ({
    ...{ name: one.name, promise: one.promise, times: one.times },
    inject: (times: number, say: Say) => misbehave(one, times, say),
  })),
  {
    name: "DNS times out, fails, knows no such domain, no server, or a private one",
    promise: "deferred until it answers; bounced; never connected to",
    times: 20,
    inject: troubleDns,
  },
];

async function misbehave(one: Misbehaviour, times: number, say: Say): Promise<Findings> {
  const { to, expected, env } = one;
  let hits = 0;
  const script = one.script(() => hits++);
  // Addresses that are refused for good are so from the first email to the last.
  const world = expected ? { env, sink: { script } } : { env };
  const found = await underLoad({ world, load: to ? { to } : {}, expected }, async ({ world: { sink }, strike }) => {
    await strike(
      async () => {
        sink.script = script;
        await until("the receiver to misbehave", () => hits >= times);
      },
      async () => {
        say(`${hits} times`);
        if (!expected) sink.script = () => undefined;
      },
    );
  });
  return { ...found, injected: hits };
}

const outcomes: Record<string, ReturnType<Expected>> = {
  "silent.test": "email.delivered",
  "failing.test": "email.delivered",
  "nowhere.test": "email.bounced",
  "null.test": "email.bounced",
  "private.test": "email.bounced",
};

async function troubleDns(times: number, say: Say): Promise<Findings> {
  const names = Object.keys(outcomes);
  const domainOf = (n: number) => (n % 2 === 0 ? names[(n / 2) % names.length]! : "there.test");
  let asked = 0;
  const found = await underLoad(
    {
      load: {
        to: (key, n) => {
          if (n % 2 === 0) asked++;
          return [`${key}@${domainOf(n)}`];
        },
      },
      expected: (address) => outcomes[address.split("@")[1]!] ?? "email.delivered",
      start: async () => setTrouble(await startWorld()),
    },
    async ({ world, strike, atRest }) => {
      await strike(
        async () => await until("mail to troubled domains", () => asked >= times),
        async () => {
          for (const name of ["silent.test", "failing.test"]) world.dns.behave(name, undefined);
          say(`${asked} emails to ${names.length} troubled domains`);
        },
      );
      atRest(() =>
        world.sink.commands.some(({ line }) => /private\.test|null\.test|nowhere\.test/.test(line))
          ? ["a refused server was spoken to"]
          : [],
      );
    },
  );
  return { ...found, injected: asked };
}

function setTrouble(world: World): World {
  const { dns } = world;
  dns.zone("test");
  for (const name of ["silent.test", "failing.test"]) mailDomain(dns, name);
  dns.behave("silent.test", "timeout");
  dns.behave("failing.test", "servfail");
  dns.set("null.test", "MX", "0 .");
  dns.set("private.test", "MX", "10 mx.private.test");
  dns.set("mx.private.test", "A", "10.0.0.1");
  return world;
}
