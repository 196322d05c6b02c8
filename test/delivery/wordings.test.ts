/** Refusals with words that no rule knows are counted for the operator, without addresses, and for operators only. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Browser, signUpFirst } from "../harness/people.ts";
import { operate, tryOperate } from "../harness/quotas.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
let owner: { browser: Browser; workspace: string };
before(async () => {
  testbed = await startTestbed();
  owner = await signUpFirst(testbed.program);
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" ? `550 5.7.1 <${recipient}>: the moon is in the wrong house, ticket 4711-ab` : undefined;
});
after(async () => await testbed?.stop());

/** Other checks of doctor fail here. */
const diagnose = async () => (await tryOperate(testbed, "doctor", "--probe", "there.test")).stdout;

type Listed = { data: Record<string, string | number>[] };
const list = async () => await owner.browser.rpc("OperatorService/ListUnknownWordings", {});

test("before a refusal there is nothing to show", async () => {
  assert.match(await operate(testbed, "wordings"), /Every reply of the last 30 days had a known wording/);
});

test("an operator sees the wording with its count, and no address", async () => {
  for (const name of ["ann.long", "bob"])
    assert.equal((await testbed.send({ to: [`${name}@there.test`] })).body.status, "EMAIL_STATUS_FAILED");
  const events = await testbed.events();
  const bounced = events.filter(({ event }) => event.type === "email.bounced");
  assert.equal(bounced.length, 2, "the events keep the whole reply");
  assert.match(JSON.stringify(bounced), /ann\.long@there\.test>: the moon/);

  await testbed.database.sql`update people set is_operator = true`;
  await testbed.database.sql`update people_sessions set has_second_factor = true, proved_at = service_time()`;
  const { data } = await until("the counted wording", async () => {
    const body = (await list()).body as Listed;
    return body.data?.[0] && Number(body.data[0].replies) === 2 ? body : undefined;
  });
  assert.equal(data.length, 1);
  const { firstAt, lastAt, site, ...wording } = data[0]!;
  assert.ok(firstAt && lastAt && site);
  assert.deepEqual(wording, {
    phase: "rcpt",
    code: 550,
    enhancedCode: "5.7.1",
    shape: "<address> the moon is in the wrong house, ticket <id>",
    category: "policy",
    replies: 2,
  });
  assert.doesNotMatch(JSON.stringify(data), /ann|bob|there\.test>/);
});

test("the command line and doctor show it", async () => {
  assert.match(
    await operate(testbed, "wordings"),
    /2 +\S+ +rcpt +550 5\.7\.1 +policy .*the moon is in the wrong house/,
  );
  const [row] = (await operate(testbed, "wordings", "--json", "--site", "nowhere.test")).split("\n");
  assert.equal(row, "");
  assert.match(await diagnose(), /wordings.*wordings that are known/);
  await testbed.database.sql`update unknown_wordings set replies = 100`;
  assert.match(await diagnose(), /wordings.*100 refusals, the last within 7 days, have a wording that no rule knows/);
});

test("keys and other people cannot list them", async () => {
  assert.equal((await testbed.program.call("OperatorService/ListUnknownWordings", {})).body.code, "permission_denied");
  await testbed.database.sql`update people set is_operator = false`;
  assert.equal((await list()).body.code, "permission_denied");
});
