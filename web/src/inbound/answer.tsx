/** The form that answers an inbound message, in its thread and from the address that it was sent to. */
import { createClient } from "@connectrpc/connect";
import { Button, NativeSelect, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import type { InboundMessage } from "../../../src/gen/v1/inbound_pb.ts";
import { explain } from "../api/problem.ts";
import { invalidate } from "../api/query-client.ts";
import { transport } from "../api/transport.ts";
import { Form, TextField } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { answerTo } from "./answer-fields.ts";

export function Answer({ inbound }: { inbound: InboundMessage }) {
  const [isOpen, form] = useDisclosure(false);
  const open = (
    <Button size="xs" onClick={form.open}>
      Write reply
    </Button>
  );
  return (
    <Section title="Reply" actions={isOpen ? undefined : open}>
      {isOpen ? (
        <Fields inbound={inbound} onCancel={form.close} />
      ) : (
        <span className="faint">
          {inbound.autoSubmitted
            ? "This is an automatic message. Its sender may not read a reply, and may answer it automatically again."
            : "Your reply continues this thread and is sent like any other email."}
        </span>
      )}
    </Section>
  );
}

const client = createClient(EmailService, transport);

/** One key for one text: when no answer arrives and the person tries again, one email is sent. */
function useKeyOf(content: string): string {
  const used = useRef({ content: "", key: "" });
  if (used.current.content !== content) used.current = { content, key: randomKey() };
  return used.current.key;
}

/** Without crypto.randomUUID, which browsers offer only on pages with TLS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const fieldNames = ["from", "to", "subject", "body"];

function Fields({ inbound, onCancel }: { inbound: InboundMessage; onCancel(): void }) {
  const first = answerTo(inbound);
  const [from, setFrom] = useState(first.from);
  const [to, setTo] = useState(first.to);
  const [subject, setSubject] = useState(first.subject);
  const [body, setBody] = useState("");
  const text = useRef<HTMLTextAreaElement>(null);
  // The button that opened the form is gone, and keyboard focus with it.
  useEffect(() => text.current?.focus(), []);
  const navigate = useNavigate();
  const request = { from, to: [to], subject, body, replyToEmailId: inbound.id, async: true };
  const idempotencyKey = useKeyOf(JSON.stringify(request));
  const sending = useMutation({
    // The next page shows the progress, so the call does not have to wait for the first attempt.
    mutationFn: () => client.sendEmail(request, { headers: { "idempotency-key": idempotencyKey } }),
    onSuccess({ id }) {
      void invalidate(EmailService.method.listEmails);
      void navigate({ to: "/emails/$id", params: { id } });
    },
  });
  const problem = sending.error ? explain(sending.error) : undefined;
  const field = (of: string) =>
    Object.entries(problem?.fields ?? {}).find(([path]) => path === of || path.startsWith(`${of}[`))?.[1];
  return (
    <Form
      submitLabel="Send reply"
      isPending={sending.isPending}
      error={fieldNames.some(field) ? undefined : sending.error}
      onSubmit={() => sending.mutate()}
      onCancel={onCancel}
    >
      {first.senders.length > 0 ? (
        <NativeSelect
          label="From"
          data={first.senders}
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
          error={field("from")}
        />
      ) : (
        <TextField
          label="From"
          placeholder={`name@${inbound.domain}`}
          value={from}
          onChange={setFrom}
          error={field("from")}
          isCode
          isRequired
        />
      )}
      <TextField label="To" value={to} onChange={setTo} error={field("to")} isCode isRequired />
      <TextField label="Subject" value={subject} onChange={setSubject} error={field("subject")} />
      <Textarea
        label="Text"
        value={body}
        onChange={(event) => setBody(event.currentTarget.value)}
        error={field("body")}
        rows={6}
        required
        ref={text}
      />
    </Form>
  );
}
