/** The button and dialog that cancel an email for its waiting recipients. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type Email, EmailService } from "../../../src/gen/v1/email_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";

export function CancelEmail({ email }: { email: Email }) {
  const [isConfirming, confirming] = useDisclosure(false);
  const { getEmail, listEmails, listEvents, cancelEmail } = EmailService.method;
  const cancellation = useMutation(cancelEmail, {
    onSuccess() {
      confirming.close();
      void invalidate(getEmail, listEmails, listEvents);
    },
  });
  return (
    <>
      <Button
        variant="default"
        onClick={() => {
          cancellation.reset();
          confirming.open();
        }}
      >
        Cancel email
      </Button>
      <Confirm
        isOpen={isConfirming}
        title="Cancel this email?"
        confirmLabel="Cancel email"
        cancelLabel="Keep email"
        isPending={cancellation.isPending}
        error={cancellation.error}
        onConfirm={() => cancellation.mutate({ id: email.id })}
        onClose={confirming.close}
      >
        <Text>
          Recipients that are still waiting will not receive the email. Recipients that already have an outcome or an
          attempt in progress are not affected. This cannot be undone.
        </Text>
      </Confirm>
    </>
  );
}
