/** SendEmailBatch: up to 500 emails in one call. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Accept } from "../accept/accept.ts";
import {
  EmailStatus,
  type SendEmailBatchRequest,
  type SendEmailBatchResponseSchema,
  SendEmailRequestSchema,
} from "../gen/v1/email_pb.ts";
import { invalid } from "../rules/problem.ts";
import { toWireId } from "../store/ids.ts";
import type { Call } from "./call.ts";
import { senderOf, sendRequestFrom } from "./email-wire.ts";
import { unknownFields } from "./written.ts";

const maxEmails = 500;

export async function sendBatch(
  accept: Accept,
  request: SendEmailBatchRequest,
  call: Call,
): Promise<MessageInitShape<typeof SendEmailBatchResponseSchema>> {
  const { length } = request.emails;
  if (length === 0) throw invalid([{ field: "emails", description: "is required: the emails to send" }]);
  if (length > maxEmails)
    throw invalid([
      { field: "emails", description: `has ${length} entries, at most ${maxEmails} are allowed in one call` },
    ]);
  const results = await accept.acceptBatch(request.emails.map(sendRequestFrom), senderOf(call.caller), {
    idempotencyKey: call.header("idempotency-key"),
    beginWrite: () => call.beginWrite(),
    unknownFields: (i) => unknownFields(request, SendEmailRequestSchema, ["emails", i]),
  });
  const refused = results.filter((result) => "error" in result).length;
  const data = results.map((result) => {
    if ("error" in result)
      return { error: { ...result.error, violations: result.error.violations.map((v) => ({ ...v })) } };
    return { id: toWireId("email", result.id), messageId: result.messageId, status: EmailStatus.QUEUED };
  });
  return { data, accepted: length - refused, refused };
}
