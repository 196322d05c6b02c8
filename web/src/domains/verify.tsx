/** Checks a domain's DNS records on request: a hook, a button with a countdown, and the result. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createConnectQueryKey, useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { type Domain, DomainService, type VerifyDomainResponse } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate, queryClient } from "../api/query-client.ts";
import { transport } from "../api/transport.ts";
import { ProblemAlert } from "../parts/states.tsx";
import { countRecords, recordsOf } from "./record-text.ts";

export function useVerify(id: string) {
  const check = useMutation(DomainService.method.verifyDomain, {
    onSuccess: ({ domain }) => domain && cacheDomain(domain),
  });
  const nextRetryAt = check.data?.nextRetryAt;
  const waitSeconds = useSecondsUntil(nextRetryAt ? timestampDate(nextRetryAt) : undefined);
  return { check, waitSeconds, verify: () => check.mutate({ id }) };
}

/** Updates the cached domain after a check, so that every page shows the new state. */
export function cacheDomain(domain: Domain): void {
  const { getDomain, listDomains } = DomainService.method;
  const queryKey = createConnectQueryKey({
    schema: getDomain,
    input: { id: domain.id },
    transport,
    cardinality: "finite" as const,
  });
  queryClient.setQueryData(queryKey, (cached) => cached && { ...cached, domain });
  void invalidate(listDomains);
}

export function VerifyButton(props: { verification: ReturnType<typeof useVerify>; isSecondary?: boolean }) {
  const { verification, isSecondary = false } = props;
  const { check, waitSeconds, verify } = verification;
  return (
    <Button
      variant={isSecondary ? "default" : undefined}
      onClick={verify}
      loading={check.isPending}
      disabled={waitSeconds > 0}
    >
      {waitSeconds > 0 ? `Check again in ${waitSeconds} s` : "Check DNS now"}
    </Button>
  );
}

/** Says that a check runs or has ended. The page shows its result, so it is not repeated here. The line has a fixed height, so that the
 * layout does not shift. */
export function VerifyResult({ verification }: { verification: ReturnType<typeof useVerify> }) {
  const { check } = verification;
  if (check.error) return <ProblemAlert error={check.error} />;
  return (
    <Text size="sm" role="status" mih={22} className="wrap">
      {check.isPending ? "Checking DNS. This takes up to five seconds." : resultText(check.data)}
    </Text>
  );
}

function resultText(answer: VerifyDomainResponse | undefined): string {
  if (!answer?.domain) return "";
  if (!answer.wasRefreshed) return "DNS was checked a moment ago. This is the result.";
  const { found, total } = countRecords(recordsOf(answer.domain).map(({ record }) => record));
  return `Check complete: ${found} of ${total} records found.`;
}

function useSecondsUntil(date: Date | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  const end = date?.getTime() ?? 0;
  useEffect(() => {
    setNow(Date.now());
    if (end <= Date.now()) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= end) clearInterval(timer);
    }, 500);
    return () => clearInterval(timer);
  }, [end]);
  return Math.max(0, Math.ceil((end - now) / 1000));
}
