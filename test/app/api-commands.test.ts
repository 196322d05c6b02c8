/** The other commands that cover the API: inbound mail, stats, members, audit log, domains and keys, on the local store and at a
 * remote instance, with keys of every permission, and at servers that do not answer. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";
import { freePort } from "../harness/free-port.ts";
import { until } from "../harness/wait.ts";

let bed: CommandBed | undefined;
let program: CommandBed["program"];
let run: CommandBed["run"];
let succeed: CommandBed["succeed"];
let rowsOf: CommandBed["rowsOf"];
let fails: CommandBed["fails"];
const keys: Record<string, string> = {};

before(async () => {
  bed = await startCommandBed();
  ({ program, run, succeed, rowsOf, fails } = bed);
  for (const permission of ["send", "read", "full"]) {
    const request = { name: permission, permission: `KEY_PERMISSION_${permission.toUpperCase()}` };
    keys[permission] = (await program.call("KeyService/CreateKey", request)).body.secret as string;
  }
  const email = { from: "shop@example.test", subject: "Hello", body: "Thank you." };
  for (const to of ["bounced", "replied"])
    await program.call("EmailService/SendEmail", { ...email, to: [`${to}@example.test`] });
  await until("the simulated reply", async () => {
    const { body } = await program.call("InboundService/ListInbound", {});
    return (body.data as unknown[]).length > 0;
  });
});
after(async () => await bed?.stop());

describe("inbound mail, stats, members, the audit log, domains and keys", () => {
  it("are read locally and remotely", async () => {
    for (const where of everywhere) {
      const [message] = await rowsOf<{ id: string; parentEmailId: string }>(where, "inbound", "list");
      assert.match(await succeed(where, "inbound", "get", message!.id), /^Reply to +em_/m);
      assert.match(await succeed(where, "inbound", "content", message!.id), /^Subject: /m);
      await fails(1, /attachment/, where, ["inbound", "attachment", message!.id, "9"]);
      assert.equal((await rowsOf(where, "inbound", "list", "--reply-to", message!.parentEmailId)).length, 1);
      assert.match(await succeed(where, "inbound", "reports"), /^No such bounce/);
      const [counts] = await rowsOf<{ totals: object; groups: object[] }>(where, "stats", "--group-by", "domain");
      assert.ok(counts!.totals);
      assert.match(await succeed(where, "stats", "--from", "7d", "--bucket", "day"), /^START +ACCEPTED/m);
      await fails(2, /need each other/, where, ["stats", "--group-by", "metadata"]);
      assert.match(await succeed(where, "members", "list"), /^No members yet|^ID/);
      const entries = await rowsOf<{ action: string }>(where, "audit", "--action", "key.created");
      assert.ok(entries.length >= 3 && entries.every(({ action }) => action === "key.created"));
      const listed = await rowsOf<{ domain: string }>(where, "domains", "list");
      assert.deepEqual(
        listed.map(({ domain }) => domain),
        ["example.test"],
      );
      assert.match(
        await succeed(where, "domains", "records", "example.test"),
        /^\S+ +required +CNAME +ph1\._domainkey/m,
      );
    }
    assert.deepEqual(await rowsOf("remote", "audit"), await rowsOf("local", "audit"));
  });

  it("domains and keys are changed at a remote instance", async () => {
    const { secret, id } = JSON.parse(
      await succeed("remote", "keys", "create", "--name", "far", "--scope", "stats", "--expires", "30d", "--json"),
    ) as { secret: string; id: string };
    assert.equal((await program.call("StatsService/GetStats", {}, { key: secret })).status, 200);
    await succeed("remote", "keys", "update", id, "--expires", "never", "--name", "farther");
    const rotated = (await succeed("remote", "keys", "rotate", id, "--overlap", "0")).trim();
    assert.equal((await program.call("StatsService/GetStats", {}, { key: rotated })).status, 200);
    const [key] = await rowsOf<{ id: string; name: string; expiresAt: null }>("remote", "keys", "list");
    assert.deepEqual([key!.name, key!.expiresAt], ["farther", null]);
    await fails(2, /stop working at once\. Repeat the command with --yes/, "remote", ["keys", "revoke", key!.id]);
    await succeed("remote", "keys", "revoke", key!.id, "--yes");
    assert.equal((await program.call("StatsService/GetStats", {}, { key: rotated })).status, 401);

    assert.match(await succeed("remote", "domains", "add", "far.test"), /^far\.test {2}PENDING/);
    assert.match(await succeed("remote", "domains", "verify", "far.test"), /^far\.test {2}/);
    await fails(2, /no domain "near\.test"/, "remote", ["domains", "verify", "near.test"]);
    await fails(2, /--yes/, "remote", ["domains", "delete", "far.test"]);
    await succeed("remote", "domains", "delete", "far.test", "--yes");
  });

  it("members are changed only on the server", async () => {
    await succeed("local", "people", "invite", "ann@there.test", "--role", "viewer");
    const [member] = await rowsOf<{ email: string; role: string }>("remote", "members", "list");
    assert.deepEqual([member!.email, member!.role], ["ann@there.test", "MEMBER_ROLE_VIEWER"]);
    for (const args of [
      ["members", "remove", "ann@there.test", "--yes"],
      ["members", "update", "ann@there.test", "--role", "owner"],
    ])
      await fails(2, /A key cannot .*: this needs a person\. Sign in at http/, "remote", args);
    assert.equal(
      await succeed("local", "members", "update", "ann@there.test", "--role", "developer"),
      "ann@there.test is now developer.\n",
    );
    assert.match(await succeed("local", "members", "remove", "ANN@there.test", "--yes"), /withdrawn/);
    await fails(2, /no member "ann@there\.test"/, "local", ["members", "remove", "ann@there.test", "--yes"]);
    const unknown = ["people", "invite", "x@there.test", "--profile", "production"];
    await fails(2, /works only on the local data directory/, "local", unknown);
    await fails(2, /--all is for operators/, "remote", ["audit", "--all"]);
  });
});

describe("keys that may not, and servers that do not answer", () => {
  it("explain what is missing", async () => {
    const list = ["emails", "list"];
    await fails(1, /permission_denied: ListEmails needs a key with the permission full or read/, "remote", list, {
      key: keys.send,
    });
    assert.equal((await run("remote", list, { key: keys.read })).code, 0);
    const cancel = ["emails", "cancel", "em_00000000-0000-7000-8000-000000000000", "--yes"];
    await fails(1, /permission_denied/, "remote", cancel, { key: keys.read });
    await fails(1, /not_found/, "remote", cancel, { key: keys.full });
    await fails(1, /unauthenticated: .*Set POSTHORN_KEY to a valid key/, "remote", list, { key: "ph_nonsense" });
    await fails(2, /Set POSTHORN_KEY to an API key of/, "remote", list, { key: "" });
    await fails(2, /contains spaces or other characters/, "remote", list, { key: "ph_a b" });
    await fails(2, /--workspace works only on the local/, "remote", [...list, "--workspace", "default"]);
  });

  it("name the server and the reason", async (t) => {
    const list = ["emails", "list"];
    const free = `http://127.0.0.1:${await freePort()}`;
    await fails(1, new RegExp(`^${free} does not answer: ECONNREFUSED`), "remote", list, { url: free });
    await fails(2, /is not a URL such as/, "remote", list, { url: "mail.example.com" });
    await fails(2, /has no user, password/, "remote", list, { url: "http://me:secret@127.0.0.1:9" });
    const other = createServer((request, response) => {
      if (request.url?.includes("ListEmails")) response.writeHead(302, { location: "https://elsewhere.test/" }).end();
      else if (request.url?.includes("GetStats")) response.end("<html>\u001b[2J</html>");
      else if (request.url?.includes("GetEmail")) response.writeHead(404).end("no such page");
      else request.socket.destroy();
    }).listen(0, "127.0.0.1");
    t.after(() => other.close());
    await until("the server to listen", () => other.address());
    const url = `http://127.0.0.1:${(other.address() as { port: number }).port}`;
    await fails(1, /redirects to https:\/\/elsewhere\.test\//, "remote", list, { url });
    await fails(1, /does not answer like Posthorn.*<html>\\u001b\[2J/, "remote", ["stats"], { url });
    await fails(1, /HTTP 404: no such page\. Is .* the URL of a Posthorn\?/, "remote", ["emails", "get", "em_1"], {
      url,
    });
    await fails(1, /does not answer: /, "remote", ["webhooks", "list"], { url });
  });

  it("mistakes in options name the option and the fix", async () => {
    for (const [args, words] of [
      [["emails", "list", "--status", "lost"], /--status must be one of queued, processing, sent, failed, not "lost"/],
      [["emails", "list", "--outcome", "lost"], /--outcome must be one of/],
      [["emails", "list", "--after", "soon"], /--after must be a day or a time/],
      [["emails", "list", "--limit", "0"], /--limit must be a number of at least 1/],
      [["emails", "list", "--metadata", "=x"], /--metadata must be a name or name=value/],
      [["emails", "list", "--colour"], /Unknown option '--colour'/],
      [["emails", "get"], /Give the id of an email, for example: posthorn emails get em_…/],
      [["emails", "reschedule", "em_1", "soon"], /"soon" is not a time/],
      [["emails", "content", "em_1", "--raw", "--html"], /Use only one of --html, --raw/],
      [["suppressions", "list", "--reason", "x"], /--reason must be one of/],
      [["emails", "list", "--url", "http://a.test", "--profile", "b"], /either --url or --profile/],
    ] as [string[], RegExp][])
      await fails(2, words, "remote", args);
    await fails(1, /not_found|No email/, "local", ["emails", "get", "nonsense"]);
  });
});
