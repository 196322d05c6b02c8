/** The score of a real rspamd and a real SpamAssassin for the composed sample. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { needs } from "../harness/foreign.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { gtube, type SpamFilter, startRspamd, startSpamd } from "../harness/spam-filters.ts";

const filters = [
  { name: "rspamd", skip: needs("rspamd"), start: startRspamd },
  { name: "SpamAssassin", skip: needs("spamd"), start: startSpamd },
];

type Answer = {
  checks: { id: string; result: string; found: string }[];
  spam?: { filter: string; score: number; threshold: number; isSpam: boolean; rules: { name: string }[] };
};

for (const { name, skip, start } of filters)
  describe(`the score of ${name}`, () => {
    let filter: SpamFilter;
    let database: TestDatabase;
    let program: RunningProgram;
    before(async () => {
      if (skip) return;
      filter = await start();
      database = await createTestDatabase({ example: true });
      program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_SPAM_CHECK: filter.setting } });
    });
    after(async () => {
      await program?.remove();
      await database?.drop();
      await filter?.stop();
    });
    const check = async (email: object | undefined) => {
      const { status, body } = await program.call("DeliverabilityService/CheckDeliverability", {
        domain: "example.test",
        email: email && { from: "Shop <a@example.test>", to: ["b@there.test"], subject: "Your order", ...email },
      });
      assert.equal(status, 200, JSON.stringify(body));
      const answer = body as unknown as Answer;
      return { ...answer, check: answer.checks.find(({ id }) => id === "spam-filter")! };
    };

    it("passes for an ordinary email, names rules of an HTML-only one, and fails for spam", { skip }, async () => {
      const good = await check({ body: "Your order has shipped." });
      assert.equal(good.check.result, "DELIVERABILITY_RESULT_PASS", good.check.found);
      assert.equal(good.spam?.filter, name);
      assert.equal(good.spam.isSpam, false);
      const html = await check({ html: "<p>Your order has shipped." });
      assert.ok(
        html.spam?.rules.some((rule) => /HTML/.test(rule.name)),
        JSON.stringify(html.spam),
      );
      const bad = await check({ body: gtube });
      assert.equal(bad.check.result, "DELIVERABILITY_RESULT_FAIL", JSON.stringify(bad.spam));
      assert.match(bad.check.found, /which is spam/);
      // rspamd lists no rules for this text.
      if (name === "SpamAssassin") assert.equal(bad.spam?.rules[0]?.name, "GTUBE");
    });

    /** The finding of posthorn doctor. */
    const findingOf = async () => {
      const { stdout } = await runCommand(["doctor", "--json"], {
        dataDir: program.dataDir,
        databaseUrl: database.url,
        env: { POSTHORN_SPAM_CHECK: filter.setting },
      });
      const findings = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { check: string; result: string });
      return findings.filter((finding) => finding.check === "filter").map(({ result }) => result);
    };

    it("is unknown without a sample, and when the filter is gone", { skip }, async () => {
      const without = await check(undefined);
      assert.equal(without.spam, undefined);
      assert.deepEqual(await findingOf(), ["ok"]);
      await filter.stop();
      const gone = await check({ body: "Hello" });
      assert.equal(gone.check.result, "DELIVERABILITY_RESULT_UNKNOWN");
      assert.doesNotMatch(gone.check.found, /127\.0\.0\.1/);
      assert.equal(gone.spam, undefined);
      assert.deepEqual(await findingOf(), ["warn"]);
    });
  });
