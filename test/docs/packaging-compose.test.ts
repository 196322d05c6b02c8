/** Checks the compose files without Docker: parses the YAML and traces every variable and setting to its source. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { setByCompose } from "../../scripts/generators/env-example.ts";
import { readConfig } from "../../src/app/config.ts";
import { settings } from "../../src/app/settings.ts";
import { root } from "../harness/pages.ts";

type Service = {
  image?: string;
  build?: { context: string; args?: Record<string, string> };
  user?: string;
  read_only?: boolean;
  tmpfs?: string[];
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  env_file?: { path: string; required: boolean }[];
  environment?: Record<string, string | null>;
  ports?: string[];
  volumes?: string[];
  depends_on?: Record<string, unknown> | string[];
  networks?: Record<string, { ipv4_address: string }>;
} & Record<string, unknown>;
type Compose = {
  services: Record<string, Service>;
  volumes: Record<string, null>;
  networks?: { default: { ipam: { config: { subnet: string }[] } } };
};

const files = ["compose.yaml", "deploy/compose.three-nodes.yaml"];
const read = (path: string) => readFileSync(join(root, path), "utf8");
const compose = (path: string) => parse(read(path), { merge: true }) as Compose;

/** Service keys of the Compose specification that these files use. Docker rejects misspelled ones. */
const known = new Set([
  ...["image", "build", "init", "restart", "stop_grace_period", "depends_on", "user", "read_only", "tmpfs", "cap_drop"],
  ...["cap_add", "security_opt", "env_file", "environment", "ports", "volumes", "healthcheck", "shm_size", "networks"],
]);

/** Interpolates ${NAME:-default} and ${NAME:?message} like Compose. */
function interpolate(text: string, env: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind: string, rest: string) => {
    const value = env[name];
    if (value) return value;
    if (kind === "-") return rest;
    throw new Error(`${name}: ${rest ?? "not set"}`);
  });
}

const example = read("deploy/.env.example");
const inExample = new Set([...example.matchAll(/^#?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!));

test("deploy/.env.example names every setting", () => {
  const missing = Object.keys(settings).filter((name) => !inExample.has(name));
  assert.deepEqual(missing, []);
});

for (const path of files) {
  const { services, volumes } = compose(path);
  const nodes = Object.values(services).filter(({ environment }) => environment && "POSTHORN_SECRET" in environment);

  test(`${path}: uses only keys of Compose, and the files, volumes and services it names exist`, () => {
    for (const [name, service] of Object.entries(services)) {
      assert.deepEqual(
        Object.keys(service).filter((key) => !known.has(key)),
        [],
        name,
      );
      assert.ok(service.image || service.build, `${name} has an image`);
      for (const other of Array.isArray(service.depends_on)
        ? service.depends_on
        : Object.keys(service.depends_on ?? {}))
        assert.ok(other in services, `${name} depends on ${other}`);
      for (const volume of service.volumes ?? []) {
        const [source] = interpolate(volume, {}).split(":") as [string];
        if (source.startsWith(".")) assert.ok(existsSync(join(root, dirname(path), source)), source);
        else assert.ok(source in volumes, `${source} is a volume`);
      }
      if (service.build) assert.ok(existsSync(join(root, dirname(path), service.build.context, "Dockerfile")));
    }
    assert.ok(
      Object.values(services).some(({ build }) => build?.args?.NODE_IMAGE?.startsWith("${NODE_IMAGE:-node:24-")),
      "the base image is a build argument",
    );
  });

  test(`${path}: every variable is in the example, and has a default or an error message`, () => {
    // The parsed file, without its comments.
    const text = JSON.stringify(compose(path));
    const variables = [...text.matchAll(/\$\{(\w+)([^}]*)\}/g)];
    assert.equal(variables.length, text.match(/\$/g)?.length, "no variable in another form");
    for (const [all, name, rest] of variables) {
      assert.match(rest!, /^:-.+|^:\?.+/, all);
      assert.ok(inExample.has(name!), `${name} is in deploy/.env.example`);
    }
  });

  test(`${path}: services have no unneeded privileges and a read-only root file system`, () => {
    for (const [name, service] of Object.entries(services)) {
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ["ALL"], name);
      assert.deepEqual(service.security_opt, ["no-new-privileges:true"], name);
      assert.ok(!("privileged" in service), name);
    }
    for (const node of nodes) {
      assert.equal(node.cap_add, undefined);
      assert.equal(node.user, "node");
      assert.deepEqual(node.tmpfs, ["/tmp"]);
    }
  });

  test(`${path}: no process in a container listens below port 1024`, () => {
    for (const [name, service] of Object.entries(services))
      for (const port of service.ports ?? []) {
        const inside = Number(/:(\d+)(?:\/(?:tcp|udp))?$/.exec(port)![1]);
        assert.ok(inside >= 1024, `${name}: ${port}`);
      }
  });

  test(`${path}: every setting in .env reaches the node, and the fixed settings are valid`, () => {
    assert.ok(nodes.length > 0);
    const needed = {
      POSTHORN_SECRET: "s".repeat(64),
      POSTGRES_PASSWORD: "p".repeat(48),
      POSTHORN_METRICS_TOKEN: "t".repeat(48),
      DOMAIN: "posthorn.example.com",
    };
    for (const node of nodes) {
      assert.deepEqual(node.env_file, [{ path: ".env", required: false }]);
      const fixed = Object.fromEntries(
        Object.entries(node.environment!).flatMap(([name, value]) =>
          value === null ? [] : [[name, interpolate(value, needed)]],
        ),
      );
      // An entry of "environment" overrides .env, so it may contain only settings that the compose file must set.
      const unreachable = Object.keys(fixed).filter(
        (name) =>
          !(setByCompose as readonly string[]).includes(name) && !node.environment![name]!.includes(`\${${name}`),
      );
      const perNode = ["POSTHORN_ROLES", "POSTHORN_TRUSTED_PROXIES", "POSTHORN_PUBLIC_URL", "POSTHORN_OPS"];
      assert.deepEqual(
        unreachable.filter((name) => path === "compose.yaml" || !perNode.includes(name)),
        [],
      );
      const written = {
        POSTHORN_DELIVERY: "relay",
        POSTHORN_RELAY_URL: "smtp://user:password@smtp.example.com:587",
        POSTHORN_HOSTNAME: "mx1.example.com",
        POSTHORN_SYSTEM_FROM: "Posthorn <no-reply@example.com>",
        POSTHORN_TLS_CERT: "/tls/fullchain.pem",
        POSTHORN_TLS_KEY: "/tls/privkey.pem",
        POSTHORN_METRICS_TOKEN: needed.POSTHORN_METRICS_TOKEN,
      };
      const config = readConfig({ ...written, ...fixed });
      assert.equal(config.delivery, "relay");
      assert.equal(config.hostname, "mx1.example.com");
      assert.equal(config.tls?.certFile, "/tls/fullchain.pem");
      assert.ok(config.databaseUrl?.includes(needed.POSTGRES_PASSWORD));
      assert.ok(node.volumes!.some((volume) => volume.endsWith(":/data")));
    }
    for (const name of ["POSTHORN_SECRET", "POSTGRES_PASSWORD"])
      assert.throws(
        () => interpolate(JSON.stringify(services), { ...needed, [name]: "" }),
        new RegExp(`${name}: set it`),
      );
  });
}

test("one node: four settings can come from the shell, as in earlier releases, and the shell overrides .env", () => {
  const { environment } = compose("compose.yaml").services.posthorn!;
  const passedOn = Object.entries(environment!).filter(([, value]) => value === null);
  /** Like Compose: an entry without a value comes from the shell, else from .env, else it is absent. */
  const reaching = (shell: Record<string, string>, file: Record<string, string>) =>
    Object.fromEntries(
      passedOn.map(([name]) => [name, shell[name] ?? file[name]]).filter(([, value]) => value !== undefined),
    );
  const shell = {
    POSTHORN_DELIVERY: "direct",
    POSTHORN_ZONE: "mail.example.com",
    POSTHORN_PUBLIC_IPS: "203.0.113.10",
    POSTHORN_PUBLIC_URL: "https://posthorn.example.com",
  };
  assert.deepEqual(reaching(shell, { POSTHORN_DELIVERY: "capture" }), shell);
  assert.deepEqual(reaching({}, { POSTHORN_DELIVERY: "relay" }), { POSTHORN_DELIVERY: "relay" });
  const config = readConfig(reaching(shell, {}));
  assert.deepEqual(
    [config.delivery, config.zone, config.publicUrl],
    ["direct", shell.POSTHORN_ZONE, shell.POSTHORN_PUBLIC_URL],
  );
});

test("three nodes: every role has a node, roles that must not be interrupted have two, and the proxy is trusted", () => {
  const { services, networks } = compose("deploy/compose.three-nodes.yaml");
  const nodes = Object.entries(services).filter(([name]) => name.startsWith("node-"));
  assert.equal(nodes.length, 3);
  const count = (role: string) =>
    nodes.filter(([, node]) => node.environment!.POSTHORN_ROLES!.split(",").includes(role)).length;
  assert.deepEqual(["api", "delivery", "inbound", "webhooks"].map(count), [2, 2, 2, 2]);
  assert.deepEqual(["dns", "housekeeping"].map(count), [1, 1]);
  const address = services.proxy!.networks!.default!.ipv4_address;
  for (const [, node] of nodes) assert.equal(node.environment!.POSTHORN_TRUSTED_PROXIES, `${address}/32`);
  const [{ subnet }] = networks!.default.ipam.config as [{ subnet: string }];
  assert.equal(address.replace(/\.\d+$/, ".0/24"), subnet);
  // The Caddyfile names exactly the nodes with the role api.
  const upstreams = /reverse_proxy (.+) \{/.exec(read("deploy/Caddyfile"))![1]!.split(" ");
  const withApi = nodes.filter(([, node]) => node.environment!.POSTHORN_ROLES!.includes("api"));
  assert.deepEqual(
    upstreams,
    withApi.map(([name]) => `${name}:8825`),
  );
});

test("no .env is committed or copied into an image", () => {
  const forGit = read(".gitignore").split("\n");
  for (const line of [".env", ".env.*", "!.env.example"]) assert.ok(forGit.includes(line), line);
  const lines = read(".dockerignore").split("\n");
  for (const line of ["**/.env", "**/.env.*", "deploy/tls"]) assert.ok(lines.includes(line), line);
});
