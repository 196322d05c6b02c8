/** The button and dialog that send the same content to the same recipients again, as a new email. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { Button, List, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Email, EmailService } from "../../../src/gen/v1/email_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { transport } from "../api/transport.ts";
import { Confirm } from "../parts/confirm.tsx";
import { attachmentsOf, toBase64 } from "./parse-raw.ts";
import { resendLists } from "./resend-lists.ts";
import { randomKey, sendOnce } from "./use-send-email.ts";

export function ResendEmail({ email }: { email: Email }) {
  const [isConfirming, confirming] = useDisclosure(false);
  // A second try in the dialog sends the same email, and not another one.
  const [key, setKey] = useState("");
  const navigate = useNavigate();
  const sending = useMutation({
    mutationFn: () => resend(email, key),
    onSuccess({ id }) {
      confirming.close();
      void invalidate(EmailService.method.listEmails);
      void navigate({ to: "/emails/$id", params: { id } });
    },
  });
  const all = email.recipients.map(({ address }) => address);
  return (
    <>
      <Button
        variant="default"
        disabled={!email.hasContent}
        onClick={() => {
          sending.reset();
          setKey(randomKey());
          confirming.open();
        }}
      >
        Resend email
      </Button>
      <Confirm
        isOpen={isConfirming}
        title="Resend this email?"
        confirmLabel="Resend email"
        isHarmless
        isPending={sending.isPending}
        error={sending.error}
        onConfirm={() => sending.mutate()}
        onClose={confirming.close}
      >
        <Text>
          Posthorn sends a new email with the same sender, subject, content, attachments and metadata to{" "}
          {all.length === 1 ? "this recipient" : `these ${all.length} recipients`}, including recipients that already
          received the first email. Custom headers are not copied.
        </Text>
        <List size="sm" className="wrap">
          {all.slice(0, 10).map((address) => (
            <List.Item key={address}>{address}</List.Item>
          ))}
        </List>
        {all.length > 10 && <Text size="sm">and {all.length - 10} more</Text>}
      </Confirm>
    </>
  );
}

async function resend(email: Email, idempotencyKey: string) {
  const { raw, body, html } = await createClient(EmailService, transport).getEmailContent({ id: email.id });
  const attachments = email.attachments.length > 0 ? await attachmentsOf(raw) : [];
  const lists = resendLists(email);
  if (!lists)
    throw new ConnectError(
      "This email has only blind copies, which must not learn of each other. Send it again from your program.",
      Code.FailedPrecondition,
    );
  const { from, subject, metadata, unsubscribeTopic: topic } = email;
  // The person who left the topic does not get the email again, and its link is a new one.
  const unsubscribe = topic === "" ? undefined : { topic };
  const files = attachments.map(({ filename, contentType, contentId, content }) => ({
    filename,
    contentType,
    contentId,
    base64Content: toBase64(content),
  }));
  return await sendOnce(
    { from, ...lists, subject, metadata, body, html, attachments: files, unsubscribe },
    idempotencyKey,
  );
}
