// Writes deploy/.env.example from the settings table, so that the file names every setting with its help and its default.
import { settings } from "../../src/app/config.ts";

export const name = "env example";

const path = "deploy/.env.example";

/** Set by the compose files themselves, because ports and volumes depend on them. */
export const setByCompose = [
  "DATABASE_URL",
  "POSTHORN_DATA_DIR",
  "POSTHORN_HTTP",
  "POSTHORN_SMTP",
  "POSTHORN_DNS",
] as const;

const intro = `# Settings of Posthorn for compose.yaml and deploy/compose.three-nodes.yaml. Copy this file to .env next to the compose file:
#   cp deploy/.env.example .env            for compose.yaml
#   cp deploy/.env.example deploy/.env     for deploy/compose.three-nodes.yaml
# Git and Docker builds ignore .env. Written by "npm run generate" from the settings table of src/app/config.ts.

# Required: the key that encrypts secrets in the database (openssl rand -hex 32), and the password of PostgreSQL
# (openssl rand -hex 24; letters and digits only, because it becomes part of a URL).
POSTHORN_SECRET=
POSTGRES_PASSWORD=

# ---- Variables of the compose files -------------------------------------------------------------

# The base image. Pin it by digest for builds that can be repeated: node:24-bookworm-slim@sha256:…
#NODE_IMAGE=node:24-bookworm-slim

# Where the ports of the container appear on this machine: a port, or address:port.
#HTTP_PUBLISH=127.0.0.1:8825
#SMTP_PUBLISH=127.0.0.1:2525
#DNS_PUBLISH=127.0.0.1:5354
#OPS_PUBLISH=127.0.0.1:8826

# A directory with the certificate and the key for STARTTLS, mounted at /tls. Account 1000 must be able to read the files.
# Set POSTHORN_TLS_CERT=/tls/fullchain.pem and POSTHORN_TLS_KEY=/tls/privkey.pem below.
# The path counts from the compose file: ./deploy/tls is the default in .env, ./tls the default in deploy/.env.
#TLS_DIR=./deploy/tls

# Only for deploy/compose.three-nodes.yaml: the name of the API, for which the proxy gets a certificate.
#DOMAIN=posthorn.example.com
#SMTP_PUBLISH_B=127.0.0.1:2526

# ---- Settings of Posthorn -----------------------------------------------------------------------
`;

export async function generate(): Promise<Map<string, string>> {
  const blocks = Object.entries(settings)
    .filter(([name]) => name !== "POSTHORN_SECRET")
    .map(([name, setting]) => {
      const fixed = (setByCompose as readonly string[]).includes(name);
      const help = wrap(fixed ? `${setting.help} The compose files set it.` : setting.help);
      return `\n${help}\n#${name}=${"value" in setting ? setting.value : ""}\n`;
    });
  return new Map([[path, intro + blocks.join("")]]);
}

function wrap(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 115) lines.push(`# ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join("\n");
}
