/** Alerts: when the bounce rate passes its threshold, the log gets one event, the owners get one mail, and GetStats shows the alert. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

type Event = { type: string; workspaceAlert?: { figure: string; rate: number; threshold: number; message: string } };

async function alertEvents(): Promise<Event[]> {
  const { body } = await testbed.call("EmailService/ListEvents", { types: ["workspace.alert"], pageSize: 100 });
  return (body.data as { event: Event }[]).map(({ event }) => event);
}

test("a bounce rate above the threshold raises one alert", async () => {
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient?.startsWith("gone") ? "550 5.1.1 no such user" : undefined;
  const settings = { bounceAlert: { rate: 0.1, minimumRecipients: 4 } };
  assert.equal((await testbed.call("StatsService/UpdateStatsSettings", settings)).status, 200);
  const to = ["a", "gone1", "gone2", "gone3"].map((name) => `${name}@there.test`);
  await untilFinished(testbed, await accepted(testbed, { to }));
  const [alert] = await until("the alert", async () => {
    const found = await alertEvents();
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(
    [alert?.workspaceAlert?.figure, alert?.workspaceAlert?.rate, alert?.workspaceAlert?.threshold],
    ["bounces", 0.75, 0.1],
  );
  const { body } = await testbed.call("StatsService/GetStats", {});
  const [raised] = body.alerts as Record<string, unknown>[];
  assert.deepEqual([raised?.figure, raised?.message], ["bounces", alert?.workspaceAlert?.message]);
  // More bounces while the alert is raised: the loop judges the workspace again and stays silent.
  const { sql } = testbed.database;
  await untilFinished(testbed, await accepted(testbed, { to: ["gone4@there.test"] }));
  await sql`update rate_alert_marks set judged_at = 'epoch' where workspace_id = ${testbed.workspaceId}`;
  await until("another judgement", async () => {
    const [mark] = await sql<{ done: boolean }[]>`
      select m.events_to = c.last and j.events_to = c.last and j.judged_at > 'epoch' as done
      from stats_marks m join rate_alert_marks j using (workspace_id) join event_counters c using (workspace_id)
      where m.workspace_id = ${testbed.workspaceId}`;
    return mark?.done;
  });
  assert.equal((await alertEvents()).length, 1);
});
