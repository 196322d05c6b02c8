/** Finds the report in a message, or in the body of a request, unpacks it and reads it. Called by inbound/thread.ts, because a report may take
 * seconds. */
import { type ReadMessage, readMessage } from "../message/read.ts";
import { type DmarcReport, readDmarcReport } from "./dmarc-aggregate.ts";
import { ReportProblem, type ReportReason } from "./refusal.ts";
import { readTlsReport, type TlsReport } from "./tls-report.ts";
import { maxUnpackedBytes, unpack } from "./unpack.ts";

export type ReceivedReport = DmarcReport | TlsReport;
export type ReportResult = { report: ReceivedReport } | { problem: string; reason: ReportReason };

/** `message`: the octets are a mail with the report in it. `report`: they are the report itself. */
export type ReportForm = "message" | "report";

export async function readReport(raw: Buffer, form: ReportForm): Promise<ReportResult> {
  try {
    const packed = form === "report" ? raw : packedIn(readMessage(raw, maxLines));
    return { report: reportIn(await unpack(packed)) };
  } catch (error) {
    if (error instanceof ReportProblem) return { problem: error.message, reason: error.reason };
    throw error;
  }
}

/** A report may be the text of the message, uncompressed. */
const maxLines = 1_000_000;

/** The first part that looks like a report, whatever its content type says. */
function packedIn(message: ReadMessage): Buffer {
  for (const part of message.parts) {
    if (part.sizeBytes > maxUnpackedBytes) continue;
    const { content } = part;
    if (looksPacked(content) || kindOf(content) !== undefined) return content;
  }
  const text = Buffer.from(message.text.trimStart());
  if (kindOf(text) !== undefined) return text;
  throw new ReportProblem("invalid", "the message has no DMARC or TLS report");
}

function looksPacked(content: Buffer): boolean {
  return (content[0] === 0x1f && content[1] === 0x8b) || content.toString("latin1", 0, 4) === "PK\x03\x04";
}

function reportIn(bytes: Buffer): ReceivedReport {
  const kind = kindOf(bytes);
  if (kind === "dmarc") return readDmarcReport(bytes);
  if (kind === "tls") return readTlsReport(bytes);
  throw new ReportProblem("invalid", "the data is neither a DMARC report in XML nor a TLS report in JSON");
}

function kindOf(bytes: Buffer): ReceivedReport["kind"] | undefined {
  // UTF-16 has a mark and an octet of zero next to each letter.
  const start = bytes
    .toString("latin1", 0, 400)
    .replace(/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, "")
    .replaceAll("\0", "");
  // A page in HTML, which some reporters attach, begins with a document type, too.
  if (/^\s*<(\?xml|!(?!doctype\s+html)|feedback|[\w.-]{1,20}:feedback)/i.test(start)) return "dmarc";
  return /^\s*\{/.test(start) ? "tls" : undefined;
}
