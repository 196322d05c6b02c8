/** Reads the filters of ListEmails, CountEmails and ExportEmails. Called by service.ts and export.ts. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ListEmailsRequest } from "../gen/v1/email_pb.ts";
import { parseMessageId, readMessageId } from "../mail/message-id.ts";
import { invalid, type Violation } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import { parseSearch } from "./rules/terms.ts";
import type { EmailFilter } from "./store/list.ts";
import { outcomesFromWire, statusFromWire } from "./wire.ts";

export type Filters = Omit<EmailFilter, "before" | "limit" | "mostCandidates">;

/** `within`: the field of the request that has these filters. */
export function readFilters(request: ListEmailsRequest, workspaceId: string, within = ""): Filters {
  const problems: Violation[] = [];
  const wrong = (field: string, description: string) => problems.push({ field: `${within}${field}`, description });
  if (request.metadataValue !== "" && request.metadataKey === "")
    wrong("metadataValue", "requires metadataKey as well");
  const keyId = request.keyId === "" ? undefined : fromWireId("key", request.keyId);
  if (request.keyId !== "" && keyId === undefined)
    wrong("keyId", "is not the id of a key, key_…; ListKeys returns them");
  if (problems.length > 0) throw invalid(problems);
  const text = request.search.trim();
  return {
    workspaceId,
    status: statusFromWire(request.status),
    outcomes: outcomesFromWire(request.outcomes),
    keyId,
    recipient: request.recipient.trim() || undefined,
    domain: request.domain.trim().toLowerCase() || undefined,
    metadataKey: request.metadataKey || undefined,
    metadataValue: request.metadataValue || undefined,
    createdAfter: request.createdAfter && timestampDate(request.createdAfter),
    createdBefore: request.createdBefore && timestampDate(request.createdBefore),
    search: text === "" ? undefined : searchFor(text),
  };
}

/** The id and the Message-ID of an email name it; other text is searched for. */
function searchFor(text: string): EmailFilter["search"] {
  const messageId = parseMessageId(text);
  const named = fromWireId("email", (messageId.ok && readMessageId(messageId.messageId)?.emailId) || text);
  return named ? { emailId: named, words: [] } : { words: parseSearch(text) };
}
