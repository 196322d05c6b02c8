/** Takes back what has not been sent yet. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type Email, EmailService } from "../../../src/gen/v1/email_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";

export function CancelEmail({ email }: { email: Email }) {
  const [isAsking, asking] = useDisclosure(false);
  const { getEmail, listEmails, listEvents, cancelEmail } = EmailService.method;
  const cancellation = useMutation(cancelEmail, {
    onSuccess() {
      asking.close();
      void changed(getEmail, listEmails, listEvents);
    },
  });
  return (
    <>
      <Button
        variant="default"
        onClick={() => {
          cancellation.reset();
          asking.open();
        }}
      >
        Cancel email
      </Button>
      <Confirm
        isOpen={isAsking}
        title="Cancel this email?"
        act="Cancel email"
        keep="Let it go on"
        isPending={cancellation.isPending}
        error={cancellation.error}
        onConfirm={() => cancellation.mutate({ id: email.id })}
        onClose={asking.close}
      >
        <Text>
          Recipients that are still waiting will not be tried any more. Those that have an outcome, or an attempt under
          way, are not changed. This cannot be undone.
        </Text>
      </Confirm>
    </>
  );
}
