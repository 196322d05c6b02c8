/** Sends an email from a form. When no answer arrives and the person tries again, one email is sent. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { EmailService, type SendEmailRequestSchema } from "../../../src/gen/v1/email_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { transport } from "../api/transport.ts";

type Request = MessageInitShape<typeof SendEmailRequestSchema>;

const client = createClient(EmailService, transport);

/** `mutate` takes the request: the same one as in a failed call has the same idempotency key. */
export function useSendEmail(onSent: (id: string) => void) {
  const used = useRef({ content: "", key: "" });
  return useMutation({
    mutationFn(request: Request) {
      const content = JSON.stringify(request);
      if (used.current.content !== content) used.current = { content, key: randomKey() };
      return sendOnce(request, used.current.key);
    },
    onSuccess({ id }) {
      used.current = { content: "", key: "" };
      void invalidate(EmailService.method.listEmails);
      onSent(id);
    },
  });
}

/** The next page shows the progress, so the call does not wait for the first attempt. */
export async function sendOnce(request: Request, idempotencyKey: string) {
  return await client.sendEmail({ ...request, async: true }, { headers: { "idempotency-key": idempotencyKey } });
}

/** Without crypto.randomUUID, which browsers offer only on pages with TLS. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
