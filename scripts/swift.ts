/**
 * Runs the tests of object storage against OpenStack Swift's S3 door: node scripts/swift.ts. Sets up Swift with one node on loopback in a
 * temporary directory, from Debian's packages (swift-proxy, swift-account, swift-container, swift-object, memcached is not needed), runs
 * `npm test -- src/objects test/objects`, and removes it. Needs no root and no other service.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createS3 } from "../src/objects/s3.ts";

const programs = ["swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server"];
const missing = [...programs, "swift-ring-builder"].filter((name) => spawnSync("which", [name]).status !== 0);
if (missing.length > 0) {
  console.error(
    `Missing: ${missing.join(", ")}. On Debian: apt-get install swift-proxy swift-account swift-container swift-object`,
  );
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "posthorn-swift-"));
const etc = join(folder, "etc");
const devices = join(folder, "srv");
const first = 11_200 + Math.floor(Math.random() * 2000) * 4;
const ports = { proxy: first, account: first + 1, container: first + 2, object: first + 3 };
const { username } = userInfo();
const children: ChildProcess[] = [];

const common = (port: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${username}
swift_dir = ${etc}
devices = ${devices}
mount_check = false
log_name = swift
log_level = ERROR
`;

function configure(): void {
  mkdirSync(etc, { recursive: true });
  mkdirSync(join(devices, "d1"), { recursive: true });
  writeFileSync(
    join(etc, "swift.conf"),
    "[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n[storage-policy:0]\nname = one\ndefault = yes\n",
  );
  for (const kind of ["account", "container", "object"] as const) {
    const pipeline = `[pipeline:main]\npipeline = ${kind}-server\n[app:${kind}-server]\nuse = egg:swift#${kind}\n`;
    writeFileSync(join(etc, `${kind}-server.conf`), `${common(ports[kind])}${pipeline}`);
    const builder = join(etc, `${kind}.builder`);
    run("swift-ring-builder", builder, "create", "4", "1", "0");
    run(
      "swift-ring-builder",
      builder,
      "add",
      "--region",
      "1",
      "--zone",
      "1",
      "--ip",
      "127.0.0.1",
      "--port",
      String(ports[kind]),
      "--device",
      "d1",
      "--weight",
      "1",
    );
    run("swift-ring-builder", builder, "rebalance");
  }
  writeFileSync(
    join(etc, "proxy-server.conf"),
    `${common(ports.proxy)}[pipeline:main]
pipeline = catch_errors proxy-logging cache listing_formats s3api tempauth slo dlo proxy-logging proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:proxy-logging]
use = egg:swift#proxy_logging
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${first + 4}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`,
  );
}

function run(command: string, ...args: string[]): void {
  const { status, stderr, stdout } = spawnSync(command, args, { encoding: "utf8" });
  // 1: a warning, such as that of a ring with one device.
  if (status !== 0 && status !== 1) throw new Error(`${command} ${args.join(" ")}: ${stderr}${stdout}`);
}

async function start(): Promise<void> {
  for (const [kind, port] of Object.entries(ports)) {
    children.push(
      spawn(`swift-${kind}-server`, [join(etc, `${kind}-server.conf`), "--verbose"], {
        stdio: "ignore",
      }),
    );
    await untilListening(port);
  }
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isOpen) return;
    await delay(100);
  }
  throw new Error(`Swift does not listen on port ${port}`);
}

/** A PUT of the bucket itself. */
async function createBucket(endpoint: string): Promise<void> {
  const address = { bucket: "mail-content", prefix: "", endpoint, region: "us-east-1", style: "path" } as const;
  const s3 = createS3({ address, credentials });
  await s3.put("", { bytes: 0, chunks: () => [] });
  s3.close();
}

const credentials = { accessKeyId: "test:tester", secretAccessKey: "testing" };
let code = 1;
try {
  configure();
  await start();
  const endpoint = `http://127.0.0.1:${ports.proxy}`;
  await createBucket(endpoint);
  console.log(`Swift serves S3 on ${endpoint}`);
  const tests = spawn(
    process.execPath,
    ["scripts/test.ts", ...(process.argv.length > 2 ? process.argv.slice(2) : ["src/objects", "test/objects"])],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        TEST_S3_ENDPOINT: endpoint,
        TEST_S3_ACCESS_KEY_ID: credentials.accessKeyId,
        TEST_S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      },
    },
  );
  code = await new Promise<number>((resolve) => tests.once("exit", (status) => resolve(status ?? 1)));
} finally {
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map((child) => child.exitCode ?? new Promise((resolve) => child.once("exit", resolve))));
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);
