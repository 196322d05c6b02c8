/** posthorn webhooks and posthorn suppressions, on the local store and at a remote instance. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";
import { until } from "../harness/wait.ts";

let bed: CommandBed | undefined;
let folder: string;
let run: CommandBed["run"];
let succeed: CommandBed["succeed"];
let rowsOf: CommandBed["rowsOf"];
let fails: CommandBed["fails"];

before(async () => {
  bed = await startCommandBed();
  ({ folder, run, succeed, rowsOf, fails } = bed);
  const email = { from: "shop@example.test", to: ["bounced@example.test"], subject: "Hello", body: "Thank you." };
  await bed.program.call("EmailService/SendEmail", email);
});
after(async () => await bed?.stop());

describe("suppressions", () => {
  it("are added, listed, removed, imported and exported", async () => {
    for (const where of everywhere) {
      const address = `${where}@there.test`;
      assert.equal(
        await succeed(where, "suppressions", "add", address, "--note", "asked"),
        `${address} gets no mail.\n`,
      );
      const [row] = await rowsOf<{ address: string; note: string }>(where, "suppressions", "list", "--search", where);
      assert.deepEqual([row!.address, row!.note], [address, "asked"]);
      await succeed(where, "suppressions", "remove", address);
      await fails(1, /suppression list/, where, ["suppressions", "remove", address]);

      const lines = Array.from({ length: 6000 }, (_, i) => `u${i}-${where}@there.test,n\n`);
      const file = join(folder, `${where}-list.csv`);
      await writeFile(file, `address,note\n${lines.join("")}nonsense,x\n`);
      const imported = await run(where, ["suppressions", "import", file]);
      assert.deepEqual([imported.code, imported.stdout], [1, "6000 added, 0 already on the list, 1 invalid.\n"]);
      assert.match(imported.stderr, /^line 6002: /m);
      const exported = await succeed(where, "suppressions", "export");
      assert.ok(exported.startsWith("address,reason,note,created_at\r\n"));
      assert.equal(exported.split(`-${where}@there.test,import`).length, 6001);
    }
    await fails(2, /Cannot read the file nowhere\.csv/, "local", ["suppressions", "import", "nowhere.csv"]);
    const wrong = join(folder, "wrong.csv");
    await writeFile(wrong, "email\na@there.test\n");
    await fails(1, /needs a column "address"/, "remote", ["suppressions", "import", wrong]);
  });
});

describe("webhooks", () => {
  it("are created, tested, changed, rotated, redelivered and deleted", async (t) => {
    const posted: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      posted.push(request);
      response.writeHead(posted.length === 1 ? 500 : 200, { "x-evil": "a" }).end("\u001b[2Jhello");
    }).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await until("the endpoint to listen", () => server.address());
    const { port } = server.address() as { port: number };
    for (const where of everywhere) {
      posted.length = 0;
      const args = ["webhooks", "create", `http://127.0.0.1:${port}/hook`, "--event-type", "email.bounced"];
      type Created = { webhook: { id: string }; signingSecret: string };
      const created = await run(where, [...args, "--description", "shop", "--json"]);
      assert.equal(created.code, 0, created.stderr);
      const { webhook, signingSecret } = JSON.parse(created.stdout) as Created;
      assert.match(signingSecret, /^whsec_/);
      const failed = await run(where, ["webhooks", "test", webhook.id]);
      assert.equal(failed.code, 1);
      assert.match(failed.stdout, /\\u001b\[2Jhello/, "control characters of the endpoint are escaped");
      assert.equal((await run(where, ["webhooks", "test", webhook.id])).code, 0);
      assert.match(await succeed(where, "webhooks", "update", webhook.id, "--disable"), /^State +disabled$/m);
      assert.match(await succeed(where, "webhooks", "update", webhook.id, "--enable"), /^State +enabled$/m);
      await fails(2, /Give what to change/, where, ["webhooks", "update", webhook.id]);
      assert.match(await succeed(where, "webhooks", "rotate-secret", webhook.id), /^whsec_\S+\n$/);
      const deliveries = await rowsOf<{ id: string }>(where, "webhooks", "deliveries", webhook.id);
      assert.equal(deliveries.length, 2);
      assert.equal((await rowsOf(where, "webhooks", "attempts", webhook.id, deliveries[0]!.id)).length, 1);
      await fails(2, /either --delivery, or/, where, ["webhooks", "redeliver", webhook.id]);
      const range = ["webhooks", "redeliver", webhook.id, "--from-cursor", "1", "--to-cursor", "2"];
      assert.match(await succeed(where, ...range), /1 /);
      assert.match(await succeed(where, "webhooks", "show", webhook.id), /^Description +shop$/m);
      assert.equal((await rowsOf(where, "webhooks", "list")).length, 1);
      await fails(2, /--yes/, where, ["webhooks", "delete", webhook.id]);
      await succeed(where, "webhooks", "delete", webhook.id, "--yes");
      assert.match(await succeed(where, "webhooks", "list"), /^No webhooks yet\. /);
    }
  });
});
