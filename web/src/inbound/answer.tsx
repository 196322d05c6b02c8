/** The form that answers an inbound message, in its thread and from the address that it was sent to. */
import { Button, NativeSelect, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { InboundMessage } from "../../../src/gen/v1/inbound_pb.ts";
import { explain } from "../api/problem.ts";
import { useSendEmail } from "../emails/use-send-email.ts";
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
  const sending = useSendEmail((id) => void navigate({ to: "/emails/$id", params: { id } }));
  const problem = sending.error ? explain(sending.error) : undefined;
  const field = (of: string) =>
    Object.entries(problem?.fields ?? {}).find(([path]) => path === of || path.startsWith(`${of}[`))?.[1];
  return (
    <Form
      submitLabel="Send reply"
      isPending={sending.isPending}
      error={fieldNames.some(field) ? undefined : sending.error}
      onSubmit={() => sending.mutate({ from, to: [to], subject, body, replyToEmailId: inbound.id })}
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
