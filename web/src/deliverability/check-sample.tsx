/** Checks the email of a form before it is sent: a button and the result. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { Button, Stack } from "@mantine/core";
import { DeliverabilityService } from "../../../src/gen/v1/deliverability_pb.ts";
import type { SendEmailRequestSchema } from "../../../src/gen/v1/email_pb.ts";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { CheckResult } from "./result.tsx";

export function CheckSample({
  domain,
  email,
}: {
  domain: string;
  email(): MessageInitShape<typeof SendEmailRequestSchema>;
}) {
  const check = useMutation(DeliverabilityService.method.checkDeliverability);
  return (
    <Stack mt="md">
      <Button variant="default" loading={check.isPending} onClick={() => check.mutate({ domain, email: email() })}>
        Check deliverability
      </Button>
      {check.isPending && <Loading what="the checks" rows={4} />}
      {!check.isPending && check.error && <ProblemAlert error={check.error} />}
      {!check.isPending && check.data && <CheckResult result={check.data} />}
    </Stack>
  );
}
