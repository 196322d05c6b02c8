/** posthorn emails, on the local store and at a remote instance: filters, pages, content, cancellation and exports. */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";
import { until } from "../harness/wait.ts";

let bed: CommandBed | undefined;
let program: CommandBed["program"];
let folder: string;
let run: CommandBed["run"];
let succeed: CommandBed["succeed"];
let rowsOf: CommandBed["rowsOf"];
let fails: CommandBed["fails"];

before(async () => {
  bed = await startCommandBed();
  ({ program, folder, run, succeed, rowsOf, fails } = bed);
  const email = { from: "shop@example.test", body: "Thank you." };
  for (const [i, to] of ["ada", "bounced", "replied"].entries())
    await program.call("EmailService/SendEmail", {
      ...email,
      subject: `Hello ${i}`,
      to: [`${to}@example.test`],
      metadata: { order: String(i) },
    });
  // The simulated reply comes a second later and changes the email.
  await until("the reply", async () => {
    const { body } = await program.call("EmailService/ListEvents", { types: ["email.replied"] });
    return (body as { data: unknown[] }).data.length === 1;
  });
});
after(async () => await bed?.stop());

type Listed = { id: string; subject: string; outcome: string; status: string };

describe("emails", () => {
  it("are listed with filters, the same locally and remotely", async () => {
    const local = await rowsOf<Listed>("local", "emails", "list");
    assert.deepEqual(await rowsOf("remote", "emails", "list"), local);
    assert.deepEqual(
      local.map(({ subject }) => subject),
      ["Hello 2", "Hello 1", "Hello 0"],
    );
    const filters: [string[], number][] = [
      [["--outcome", "bounced", "--outcome", "failed"], 1],
      [["--status", "sent"], 2],
      [["--recipient", "ada@example.test"], 1],
      [["--domain", "example.test"], 3],
      [["--destination", "example.test"], 3],
      [["--metadata", "order"], 3],
      [["--metadata", "order=1"], 1],
      [["--after", "1h"], 3],
      [["--before", "1h"], 0],
      [["--open"], 0],
      [["--key", "key_00000000-0000-7000-8000-000000000001"], 0],
      [["--search", "bounced"], 1],
      [["--limit", "2"], 2],
    ];
    await Promise.all(
      filters.map(async ([args, count]) =>
        assert.equal((await rowsOf("remote", "emails", "list", ...args)).length, count, args.join(" ")),
      ),
    );
  });

  it("are shown as a table without a terminal's codes, and an empty list says what to do", async () => {
    const table = await succeed("remote", "emails", "list");
    assert.match(
      table,
      /^ID +ACCEPTED +OUTCOME +TO +SUBJECT\nem_\S+ {2}\S+Z {2}delivered {2}replied@example\.test +Hello 2\n/,
    );
    assert.ok(!table.includes("\u001b"), table);
    assert.equal(await succeed("local", "emails", "list", "--search", "nothing"), "No email matches.\n");
  });

  it("are counted, shown and read", async () => {
    for (const where of everywhere) {
      const [bounced] = await rowsOf<Listed>(where, "emails", "list", "--outcome", "bounced");
      assert.match(await succeed(where, "emails", "count"), /^bounced +1$[\s\S]*^total +3$/m);
      const shown = await succeed(where, "emails", "get", bounced!.id);
      assert.match(shown, /^Subject +Hello 1$/m);
      assert.match(shown, /^bounced@example\.test +bounced +1 .*550 5\.1\.1/m);
      const [{ recipients }] = (await rowsOf<{ recipients: unknown[] }>(where, "emails", "get", bounced!.id)) as [
        { recipients: unknown[] },
      ];
      assert.equal(recipients.length, 1);
      assert.equal(await succeed(where, "emails", "content", bounced!.id), "Thank you.");
      const raw = await succeed(where, "emails", "content", bounced!.id, "--raw");
      assert.match(raw, /^Subject: Hello 1\r$/m);
    }
  });

  it("are canceled only with --yes where no one can answer", async () => {
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    for (const where of everywhere) {
      const request = { from: "shop@example.test", to: ["ada@example.test"], subject: "Later", body: "x", scheduledAt };
      const { id } = (await program.call("EmailService/SendEmail", request)).body as { id: string };
      await fails(2, /cancels em_.* Repeat the command with --yes\./, where, ["emails", "cancel", id]);
      assert.match(await succeed(where, "emails", "cancel", id, "--yes"), /ancel/);
      await fails(1, /cannot be canceled/, where, ["emails", "cancel", id, "--yes"]);
    }
  });

  it("are exported to a file, a pipe and JSON lines", async () => {
    for (const where of everywhere) {
      const file = join(folder, `${where}.csv`);
      const args = ["emails", "export", "--search", "hello"];
      assert.equal(await succeed(where, ...args, "--output", file), "");
      assert.equal(await readFile(file, "utf8"), await succeed(where, ...args));
      assert.equal((await readFile(file, "utf8")).trim().split("\n").length, 4);
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      await fails(2, /already exists/, where, [...args, "--output", file]);
      assert.equal((await rowsOf(where, ...args)).length, 3);
    }
  });

  it("of many pages are all listed", async () => {
    const emails = Array.from({ length: 230 }, (_, i) => ({
      from: "shop@example.test",
      to: ["ada@example.test"],
      subject: `Paged ${i}`,
      body: "x",
    }));
    await program.call("EmailService/SendEmailBatch", { emails });
    for (const where of everywhere) {
      const all = await rowsOf<Listed>(where, "emails", "list", "--search", "paged", "--all");
      assert.equal(new Set(all.map(({ id }) => id)).size, 230, where);
      assert.equal((await rowsOf(where, "emails", "list", "--search", "paged", "--limit", "150")).length, 150);
      const some = await run(where, ["emails", "list", "--search", "paged", "--json"]);
      assert.equal(some.stdout.trimEnd().split("\n").length, 50);
      assert.equal(some.stderr, "There are more than 50. For all of them: --all\n");
    }
    const table = await succeed("remote", "emails", "list", "--search", "paged", "--all");
    assert.equal(table.trimEnd().split("\n").length, 231);
    await fails(2, /either --limit or --all/, "local", ["emails", "list", "--all", "--limit", "3"]);
  });
});
