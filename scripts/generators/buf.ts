// Runs the buf of this checkout, offline. Called by the generators and by generate.ts.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const binFolder = `${root}/node_modules/.bin`;

export class BufError extends Error {}

export async function buf(...args: string[]): Promise<Buffer> {
  // buf.gen.yaml names protoc-gen-es by its bare name, which buf looks up in PATH.
  const env = { ...process.env, PATH: `${binFolder}:${process.env.PATH}` };
  return new Promise((resolve, reject) => {
    const options = { cwd: root, env, encoding: "buffer", maxBuffer: 64 * 1024 * 1024 } as const;
    execFile(`${binFolder}/buf`, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const output = `${stdout}${stderr}`.trim();
      reject(new BufError(output === "" ? error.message : output, { cause: error }));
    });
  });
}
