/** One program as two processes: every port answers, limits and metrics count for both together, and processes are replaced without a failed call. */
import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { pidTaken } from "../../src/postgres/embedded/process.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { callOnce, killProcesses, metricOf, postOnce, processesOf, untilAllRun } from "../harness/processes.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { dialSmtp } from "../harness/smtp-client.ts";
import { until } from "../harness/wait.ts";

const burst = 40;
const zone = "mail.posthorn.test";

describe("a program with two processes", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let tenants = 0;
  before(async () => {
    database = await createTestDatabase({ migrated: false });
    program = await startProgram({
      databaseUrl: database.url,
      env: { POSTHORN_PROCESSES: "2", POSTHORN_RATE_PER_SECOND: "1", POSTHORN_RATE_BURST: String(burst) },
    });
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  /** Keys of other workspaces have rate limits of their own. */
  async function newTenant(): Promise<RunningProgram> {
    const options = { dataDir: program.dataDir, databaseUrl: database.url };
    const workspace = `tenant ${++tenants}`;
    await runCommand(["workspaces", "create", workspace], options);
    const { stdout, stderr } = await runCommand(["keys", "create", "--workspace", workspace, "--name", "k"], options);
    const key = /ph_\w+/.exec(stdout)?.[0];
    assert.ok(key, stderr);
    return { ...program, key };
  }

  it("runs two processes, and sends mail", async () => {
    const states = await processesOf(program);
    assert.deepEqual(
      states.map(({ process, state, ready }) => ({ process, state, ready })),
      [0, 1].map((process) => ({ process, state: "running", ready: true })),
    );
    const [row] = await database.sql<{ pids: number[]; runs: number }[]>`
      select array_agg(distinct pid) as pids, count(distinct run)::int as runs from workers`;
    assert.deepEqual(new Set(row!.pids), new Set(states.map(({ pid }) => pid)));
    assert.equal(row!.runs, 2);
    const { status, body } = await program.call("EmailService/SendEmail", {
      from: "hello@example.test",
      to: ["you@example.test"],
      subject: "Hello",
      body: "It works.",
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.status, "EMAIL_STATUS_SENT");
    assert.ok(program.output().split("Posthorn is running.").length === 2, "the welcome is printed once");
  });

  it("answers on the other ports: SMTP, submission, and DNS over UDP and TCP", async () => {
    for (const port of [program.ports.smtp!, program.ports.submission!])
      for (let i = 0; i < 6; i++) {
        const client = dialSmtp(port);
        assert.match((await client.reply())!, /^220 /);
        assert.match((await client.command("QUIT"))!, /^221 /);
        client.socket.destroy();
      }
    for (let i = 0; i < 4; i++) {
      const client = connectTls({ port: program.ports.submissions!, host: "127.0.0.1", rejectUnauthorized: false });
      assert.match(String((await once(client, "data"))[0]), /^220 /);
      client.destroy();
    }
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${program.ports.dns}`]);
    for (let i = 0; i < 10; i++) assert.match((await resolver.resolveSoa(zone)).nsname, /posthorn\.test$/);
    for (let i = 0; i < 6; i++) assert.ok((await askByTcp(program.ports.dns!)).length > 40);
  });

  it("spreads connections that are opened at once over both processes", async () => {
    const sockets = Array.from({ length: 40 }, () => connect(program.ports.smtp!, "127.0.0.1"));
    await Promise.all(sockets.map(async (socket) => await once(socket, "data")));
    assert.equal(await metricOf(program, /^posthorn_inbound_sessions /), 40);
    // The 51st connection of an address is refused wherever it arrives, and the spread leaves no process with half of the limit alone.
    const more = Array.from({ length: 20 }, () => connect(program.ports.smtp!, "127.0.0.1"));
    const banners = await Promise.all(
      more.map(async (socket) => String((await once(socket, "data").catch(() => [""]))[0])),
    );
    const taken = 40 + banners.filter((banner) => banner.startsWith("220")).length;
    assert.ok(taken <= 50, `${taken} connections of one address`);
    assert.ok(taken >= 46, `${taken} connections of one address`);
    for (const socket of [...sockets, ...more]) socket.destroy();
    await until("the sessions to end", async () => (await metricOf(program, /^posthorn_inbound_sessions /)) === 0);
  });

  it("grants a workspace its burst once, over all connections together and over a single one", async () => {
    const crowd = await newTenant();
    const beganMs = performance.now();
    const statuses = await Promise.all(Array.from({ length: 3 * burst }, () => callOnce(crowd, "KeyService/ListKeys")));
    const granted = statuses.filter((status) => status === 200).length;
    const refilled = Math.ceil((performance.now() - beganMs) / 1000) + 1;
    assert.deepEqual(new Set(statuses), new Set([200, 429]));
    assert.ok(granted >= burst && granted <= burst + refilled, `${granted} calls were granted`);

    const lone = await newTenant();
    const socket = connect(program.ports.http, "127.0.0.1");
    for (let i = 0; i < burst; i++) assert.equal(await callOn(socket, lone.key), 200, `call ${i + 1}`);
    socket.destroy();
  });

  it("adds up the metrics of both processes", async () => {
    const tenant = await newTenant();
    const series = /^posthorn_requests_total\{method="KeyService\/ListKeys",code="ok"\} /;
    const earlier = await metricOf(program, series);
    for (let i = 0; i < 20; i++) assert.equal(await callOnce(tenant, "KeyService/ListKeys"), 200);
    assert.equal((await metricOf(program, series)) - earlier, 20);
    assert.equal(await metricOf(program, /^posthorn_processes\{state="running"\} /), 2);
    assert.equal(await metricOf(program, /^posthorn_role_nodes\{role="api"\} /), 2);
  });

  it("replaces both processes at SIGHUP while clients open new connections, and no call fails", async () => {
    const pids = await untilAllRun(program);
    const callers = [await newTenant(), await newTenant()];
    const seen = new Map<number | string, number>();
    let calling = true;
    const clients = callers.map(async (tenant) => {
      while (calling) {
        const answer = await callOnce(tenant, "KeyService/ListKeys");
        seen.set(answer, (seen.get(answer) ?? 0) + 1);
      }
    });
    await until("calls before the restart", () => (seen.get(200) ?? 0) > 5);
    process.kill(program.pid, "SIGHUP");
    await untilAllRun(program, pids);
    const callsBefore = [...seen.values()].reduce((sum, count) => sum + count, 0);
    await until(
      "calls after the restart",
      () => [...seen.values()].reduce((sum, count) => sum + count, 0) > callsBefore + 20,
    );
    calling = false;
    await Promise.all(clients);
    for (const answer of seen.keys()) assert.ok(answer === 200 || answer === 429, `a call ended with ${answer}`);
    assert.equal(await metricOf(program, /^posthorn_process_restarts_total /), 0);
  });

  it("counts wrong passwords across processes, and a restart gives none back", async () => {
    const guessOnce = () =>
      postOnce(`${program.url}/auth/sign-in`, {
        headers: { origin: program.url, "content-type": "application/json" },
        body: { email: "owner@example.test", password: "a wrong one" },
      });
    /** Attempts until the limit is reached. */
    async function guess(): Promise<number> {
      for (let made = 0; ; made++) {
        const status = await guessOnce();
        if (status === 429) return made;
        assert.equal(status, 401);
      }
    }
    const beganMs = performance.now();
    const refilled = () => Math.ceil((performance.now() - beganMs) / 60_000);
    const made = await guess();
    assert.ok(made >= 8 && made <= 8 + refilled(), `${made} attempts`);
    const pids = await untilAllRun(program);
    process.kill(program.pid, "SIGHUP");
    await untilAllRun(program, pids);
    const more = await guess();
    assert.ok(more <= refilled(), `${more} attempts after the restart`);
  });

  it("counts what a process did before its end", async () => {
    const series = /^posthorn_requests_total\{/;
    const tenant = await newTenant();
    const counted = await metricOf(program, series);
    const pids = await untilAllRun(program);
    const calls = 20;
    for (let i = 0; i < calls; i++) assert.equal(await callOnce(tenant, "KeyService/ListKeys"), 200);
    // Without a scrape in between.
    for (const pid of pids) process.kill(pid, "SIGTERM");
    await untilAllRun(program, pids);
    assert.ok((await metricOf(program, series)) >= counted + calls);
  });

  it("serves the connections that a killed process has not received", async () => {
    const pids = await untilAllRun(program);
    process.kill(pids[0]!, "SIGSTOP");
    const banners: string[] = [];
    const sockets = Array.from({ length: 20 }, () => {
      const socket = connect(program.ports.smtp!, "127.0.0.1").on("error", () => {});
      return socket.once("data", (data) => banners.push(String(data)));
    });
    // The other process keeps about half of them, and passes on the rest.
    await until("the first connections", () => banners.length >= 5);
    process.kill(pids[0]!, "SIGKILL");
    // The one that was on its way is lost with the process.
    await until("the other connections", () => banners.length >= sockets.length - 1);
    for (const banner of banners) assert.match(banner, /^220 /);
    for (const socket of sockets) socket.destroy();
    await untilAllRun(program, [pids[0]!]);
  });

  it("replaces a process that no longer answers", async () => {
    const [hung, other] = await untilAllRun(program);
    process.kill(hung!, "SIGSTOP");
    await until("the leases of the process to end", async () => {
      const rows = await database.sql`select 1 from workers where pid = ${hung!}`;
      return rows.length === 0;
    });
    const pids = await untilAllRun(program, [hung!]);
    assert.ok(pids.includes(other!));
    assert.match(program.output(), /a process did not answer for 30 s and was killed; its work is taken over/);
  });
});

describe("a killed process", () => {
  it("loses nothing: its leases end at once, its work is taken over, and it comes back", async () => {
    const found = await killProcesses(2, () => {});
    assert.deepEqual(found.broken, []);
    assert.equal(found.lost, 0);
    assert.equal(found.gaps, 0);
    assert.equal(found.injected, 2);
  });
});

describe("a killed supervisor with the embedded database", () => {
  let program: RunningProgram | undefined;
  after(async () => await program?.remove());

  it("leaves no process behind, and the next start works on the same ports", async () => {
    const dataDir = await newDataDir();
    const env = { POSTHORN_PROCESSES: "2" };
    program = await startProgram({ dataDir, env });
    const pids = await untilAllRun(program);
    const { key } = program;
    const send = async () =>
      (
        await program!.call("EmailService/SendEmail", {
          from: "hello@example.test",
          to: ["you@example.test"],
          subject: "Hello",
          body: "It works.",
        })
      ).body.status;
    assert.equal(await send(), "EMAIL_STATUS_SENT");
    // Connections on their way through the supervisor keep Node from reporting that the channel is closed.
    process.kill(program.pid, "SIGSTOP");
    let banners = 0;
    const sockets = Array.from({ length: 30 }, () => {
      const socket = connect(program!.ports.smtp!, "127.0.0.1").on("error", () => {});
      return socket.once("data", () => banners++);
    });
    await until("the first connections", () => banners >= 10);
    await program.kill();
    for (const socket of sockets) socket.destroy();
    await until("the processes to end", () => !pids.some((pid) => pidTaken(pid)));
    const http = `127.0.0.1:${program.ports.http}`;
    program = { ...(await startProgram({ dataDir, env: { ...env, POSTHORN_HTTP: http } })), key };
    await untilAllRun(program);
    assert.equal(await send(), "EMAIL_STATUS_SENT");
    assert.equal(await program.stop(), 0);
  });
});

/** A call on a connection that stays open. */
async function callOn(socket: Socket, key: string): Promise<number> {
  socket.write(
    `POST /v1.KeyService/ListKeys HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnect-Protocol-Version: 1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  );
  let text = "";
  for (;;) {
    text += String((await once(socket, "data"))[0]);
    const [, status, length] = /^HTTP\/1\.1 (\d+)[\s\S]*?content-length: (\d+)[\s\S]*?\r\n\r\n/i.exec(text) ?? [];
    if (length !== undefined && text.length >= text.indexOf("\r\n\r\n") + 4 + Number(length)) return Number(status);
  }
}

/** The SOA record of the zone. */
async function askByTcp(port: number): Promise<Buffer> {
  const name = Buffer.concat(zone.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])));
  const query = Buffer.concat([Buffer.from("abcd01000001000000000000", "hex"), name, Buffer.from("0000060001", "hex")]);
  const socket = connect(port, "127.0.0.1");
  socket.end(Buffer.concat([Buffer.from([0, query.length]), query]));
  const chunks = await socket.toArray();
  return Buffer.concat(chunks as Buffer[]);
}
