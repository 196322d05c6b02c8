/** The button and dialog that give a scheduled email another time. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { Button, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Email, EmailService } from "../../../src/gen/v1/email_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { useNow } from "../parts/time.tsx";
import { fieldDate, fieldValue, isReschedulable, utcText } from "./reschedule.ts";

export function RescheduleEmail({ email }: { email: Email }) {
  const [isOpen, dialog] = useDisclosure(false);
  const now = useNow();
  // An open dialog stays when the time of the email comes: the server says then that it is too late.
  if (!isOpen && !isReschedulable(email, now)) return null;
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Reschedule email
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Reschedule this email">
        <TimeForm email={email} onClose={dialog.close} />
      </Modal>
    </>
  );
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

function TimeForm({ email, onClose }: { email: Email; onClose(): void }) {
  // The time of the email when the dialog opens. It has seconds, which the field does not show.
  const [before] = useState(email.scheduledAt);
  const shown = before ? fieldValue(timestampDate(before)) : "";
  const [value, setValue] = useState(shown);
  const { getEmail, getEmailContent, listEmails, updateEmail } = EmailService.method;
  const update = useMutation(updateEmail, {
    onSuccess() {
      onClose();
      void invalidate(getEmail, getEmailContent, listEmails);
    },
  });
  const date = fieldDate(value);
  const submit = () => {
    if (!date) return;
    update.mutate({ id: email.id, scheduledAt: value === shown ? before : timestampFromDate(date) });
  };
  const { fields, error } = formErrors(update.error);
  return (
    <Form
      submitLabel="Reschedule email"
      isPending={update.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onClose}
    >
      <Text>
        Up to 30 days ahead. To send the email now, choose the current time. Its Date header gets the new time too.
      </Text>
      <TextField
        type="datetime-local"
        label={`New time (${zone})`}
        description={date ? utcText(date) : "Enter a date and a time."}
        inputWrapperOrder={["label", "input", "description", "error"]}
        value={value}
        onChange={(text) => {
          setValue(text);
          update.reset();
        }}
        error={fields.scheduledAt}
        isRequired
        data-autofocus
      />
    </Form>
  );
}
