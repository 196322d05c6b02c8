/** Parses messages with Python, whose parser shares no code with ours. */
import { spawn } from "node:child_process";
import { pathOf } from "./foreign.ts";

/** Runs a script with bytes on its standard input and reads the JSON that it prints. */
export async function python<T>(script: string, input: Buffer, args: readonly string[] = []): Promise<T> {
  const child = spawn(pathOf("python3"), ["-c", script, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (stderr += chunk));
  const code = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  // A script that exits early reports the reason on standard error.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  if ((await code) !== 0) throw new Error(`python ended with ${await code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

export type ParsedPart = {
  type: string;
  encoding: string;
  disposition: string;
  filename: string | null;
  contentId: string | null;
  /** Size of the decoded content in bytes. */
  size: number;
  sha256: string;
  /** The content of a text part, decoded as UTF-8. */
  text: string | null;
  parts: ParsedPart[];
};

export type ParsedMessage = ParsedPart & {
  headers: [name: string, value: string][];
  /** Defects that the parser found in the message. */
  defects: string[];
};

const parseScript = `
import email, email.policy, hashlib, json, sys
defects = []
def part(p):
    defects.extend(repr(d) for d in p.defects)
    content = b"" if p.is_multipart() else p.get_payload(decode=True)
    return {
        "type": p.get_content_type(),
        "encoding": str(p.get("Content-Transfer-Encoding", "")),
        "disposition": str(p.get_content_disposition() or ""),
        "filename": p.get_filename(),
        "contentId": None if p.get("Content-ID") is None else str(p["Content-ID"]),
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "text": content.decode("utf-8", "replace") if p.get_content_maintype() == "text" else None,
        "parts": [part(q) for q in p.iter_parts()] if p.is_multipart() else [],
    }
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.SMTP)
whole = part(message)
whole["headers"] = [[name, str(value)] for name, value in message.items()]
whole["defects"] = defects + [repr(d) for _, v in message.items() for d in v.defects]
print(json.dumps(whole))
`;

export async function parseWithPython(raw: Buffer): Promise<ParsedMessage> {
  return await python<ParsedMessage>(parseScript, raw);
}

export function headerOf(message: ParsedMessage, name: string): string | undefined {
  return message.headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1];
}

/** All parts without nested parts, in order. */
export function leaves(part: ParsedPart): ParsedPart[] {
  return part.type.startsWith("multipart/") ? part.parts.flatMap(leaves) : [part];
}
