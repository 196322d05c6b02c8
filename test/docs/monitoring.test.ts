/** Compares the alert rules and the Grafana dashboard in deploy/ with the metrics that a running program serves. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { needs, pathOf } from "../harness/foreign.ts";
import { root } from "../harness/pages.ts";
import { byRecipient } from "../harness/sink-script.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");

type Rule = {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
};
const rules = (parse(read("deploy/prometheus/posthorn.rules.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

type Panel = { type: string; title: string; targets?: { expr: string; legendFormat: string }[] };
const dashboard = JSON.parse(read("deploy/grafana/posthorn.json")) as {
  panels: Panel[];
  templating: { list: { name: string; query: string }[] };
};
const targets = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map((one) => ({ title, ...one })));

/** For each sample name its labels and their values. */
type Served = Map<string, Map<string, Set<string>>>;
let testbed: WebhookTestbed;
let text: string;
let served: Served;

before(async () => {
  const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
  testbed = await startWebhookTestbed({
    sink: { script: byRecipient({ "refused@there.test": "550 5.1.1 no such user" }) },
    env: { POSTHORN_TLS_CERT: fixture("mx.pem"), POSTHORN_TLS_KEY: fixture("mx.key") },
  });
  await testbed.createWebhook();
  for (const to of ["a@there.test", "refused@there.test"]) assert.equal((await testbed.send({ to: [to] })).status, 200);
  text = await until("deliveries, a bounce and a webhook in the metrics", async () => {
    const now = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
    const seen = (line: RegExp) => line.test(now);
    const all =
      seen(/^posthorn_delivery_site_attempts_total\{site="[^"]+",outcome="accepted"\} [1-9]/m) &&
      seen(/^posthorn_delivery_site_attempts_total\{site="[^"]+",outcome="bounced"\} [1-9]/m) &&
      seen(/^posthorn_webhook_attempts_total\{outcome="delivered"\} [1-9]/m);
    return all ? now : undefined;
  });
  served = samplesOf(text);
});
after(async () => await testbed?.stop());

function samplesOf(text: string): Served {
  const found: Served = new Map();
  for (const [, name, labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = found.get(name!) ?? new Map<string, Set<string>>();
    for (const [, label, value] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      known.set(label!, (known.get(label!) ?? new Set()).add(value!));
    found.set(name!, known);
  }
  return found;
}

/** Labels that Prometheus adds to every sample. */
const added = ["job", "instance"];

/** Metrics, labels and values in an expression or a legend that the program does not serve. */
function unserved(expr: string, more = ""): string[] {
  const wrong: string[] = [];
  const labels = new Set(added);
  const metrics = [...expr.matchAll(/\b(posthorn_\w+|up)\b(?:\{([^}]*)\})?/g)];
  if (metrics.length === 0) wrong.push(`${expr}: no metric`);
  for (const [, name, matchers = ""] of metrics) {
    const known = name === "up" ? new Map<string, Set<string>>() : served.get(name!);
    if (!known) wrong.push(name!);
    for (const label of known?.keys() ?? []) labels.add(label);
    for (const [, label, how, value] of matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)) {
      if (added.includes(label!)) continue;
      const values = known?.get(label!);
      if (!values) wrong.push(`${name} has no label ${label}`);
      for (const one of how!.endsWith("~") ? value!.split("|") : [value!])
        if (values && !values.has(one)) wrong.push(`${name}: no ${label} is ${one}`);
    }
  }
  const used = [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/\s*,\s*/));
  for (const [, label] of more.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)) used.push(label!);
  for (const label of used) if (!labels.has(label)) wrong.push(`${expr}: no label ${label}`);
  return wrong;
}

test("the check itself finds a wrong metric, label, value and legend", () => {
  assert.deepEqual(unserved("posthorn_nothing"), ["posthorn_nothing"]);
  assert.deepEqual(unserved('posthorn_role_nodes{rule="api"}'), ["posthorn_role_nodes has no label rule"]);
  assert.deepEqual(unserved('posthorn_role_nodes{role=~"api|cook"}'), ["posthorn_role_nodes: no role is cook"]);
  assert.equal(unserved("sum by (rule) (posthorn_role_nodes)", "{{outcome}}").length, 2);
  assert.deepEqual(unserved('max by (role) (posthorn_role_nodes{job="x"})', "{{role}} {{instance}}"), []);
});

test("every metric, label and value in the alert rules is served", () => {
  assert.deepEqual(
    rules.flatMap(({ expr, annotations }) => unserved(expr, annotations.summary + annotations.description)),
    [],
  );
});

test("every metric, label and value in the dashboard is served", () => {
  assert.ok(targets.length >= 20);
  assert.deepEqual(
    targets.flatMap(({ expr, legendFormat }) => unserved(expr, legendFormat)),
    [],
  );
  const ids = (dashboard.panels as (Panel & { id: number })[]).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const variables = new Set([
    ...dashboard.templating.list.map(({ name }) => name),
    ...["__rate_interval", "__all"], // Grafana's own.
  ]);
  for (const [, name] of JSON.stringify(dashboard).matchAll(/\$\{?(\w+)/g)) assert.ok(variables.has(name!), name);
});

test("every condition that needs an operator has an alert, and each alert states what to do", () => {
  const watched = {
    "age of the oldest due email": /posthorn_queue_oldest_due_seconds\) >/,
    "receiver down": /posthorn_queue_oldest_backing_off_seconds/,
    "queue not measured": /unless on\(\) max\(posthorn_queue_oldest_due_seconds\)/,
    "failures by site": /sum by \(site\).*posthorn_delivery_site_attempts_total/,
    "database away": /posthorn_database_up == 0/,
    disk: /posthorn_data_directory_free_bytes/,
    certificate: /posthorn_tls_certificate_expiry_timestamp_seconds/,
    "missing role": /posthorn_role_nodes\) == 0/,
    "webhooks failing": /posthorn_webhook_attempts_total/,
    "node down": /up\{job="posthorn"\} == 0/,
  };
  for (const [what, expr] of Object.entries(watched))
    assert.ok(
      rules.some((rule) => expr.test(rule.expr)),
      what,
    );
  const page = read("docs/operate.md");
  const section = page.slice(page.indexOf("### Alerts\n"));
  for (const { alert, for: wait, labels, annotations } of rules) {
    assert.match(wait, /^\d+[mh]$/, alert);
    assert.ok(["warning", "critical"].includes(labels.severity), alert);
    assert.ok(annotations.summary.length > 10 && annotations.description.length > 50, alert);
    assert.equal(annotations.runbook, "docs/operate.md#alerts", alert);
    assert.ok(section.includes(`\`${alert}\``), `docs/operate.md names ${alert}`);
  }
});

test("the help of metrics that cover all nodes states that", () => {
  for (const name of [
    ...["posthorn_queue_recipients", "posthorn_queue_oldest_due_seconds"],
    ...["posthorn_queue_oldest_backing_off_seconds", "posthorn_role_nodes"],
  ])
    assert.match(text, new RegExp(`^# HELP ${name} .*Every node reports the same value`, "m"));
});

test("the certificate expiry metric is read from the certificate file", () => {
  const [, seconds] = /^posthorn_tls_certificate_expiry_timestamp_seconds (\d+)$/m.exec(text)!;
  assert.ok(Number(seconds) > 1_700_000_000, seconds);
});

test("promtool accepts the configuration, the rules and their tests", {
  skip: needs("promtool"),
}, (t) => {
  const directory = mkdtempSync(join(tmpdir(), "posthorn-prometheus-"));
  t.after(() => rmSync(directory, { recursive: true }));
  cpSync(join(root, "deploy/prometheus"), directory, { recursive: true });
  const token = join(directory, "token");
  writeFileSync(token, "0123456789abcdef");
  const config = read("deploy/prometheus/prometheus.yml").replace("/etc/prometheus/posthorn-token", token);
  writeFileSync(join(directory, "prometheus.yml"), config);
  const promtool = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(pathOf("promtool"), args, { cwd: directory, encoding: "utf8" });
    assert.equal(status, 0, `promtool ${args.join(" ")}\n${stdout}${stderr}`);
  };
  promtool("check", "config", "prometheus.yml");
  promtool("check", "rules", "posthorn.rules.yml");
  promtool("test", "rules", "posthorn.rules.test.yml");
  // Every alert has a test.
  const tested = read("deploy/prometheus/posthorn.rules.test.yml");
  for (const { alert } of rules) assert.ok(tested.includes(alert), alert);
  // Prometheus can parse the metrics of the program.
  const metrics = spawnSync(pathOf("promtool"), ["check", "metrics"], { input: text, encoding: "utf8" });
  assert.ok(metrics.status === 0 || metrics.status === 3, metrics.stderr);
});
