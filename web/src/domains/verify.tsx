/** Checks a domain's records now, or says when that can be done again. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createConnectQueryKey, useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { changed } from "../api/changed.ts";
import { queryClient } from "../api/query-client.ts";
import { transport } from "../api/transport.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";

export function useVerify(id: string) {
  const check = useMutation(DomainService.method.verifyDomain, {
    onSuccess: ({ domain }) => domain && showChecked(domain),
  });
  const again = check.data?.nextRetryAt;
  const waitSeconds = useSecondsUntil(again ? timestampDate(again) : undefined);
  return { check, waitSeconds, verify: () => check.mutate({ id }) };
}

/** A domain that was just looked up, on every page that shows it. */
export function showChecked(domain: Domain): void {
  const { getDomain, listDomains } = DomainService.method;
  const queryKey = createConnectQueryKey({
    ...{ schema: getDomain, input: { id: domain.id }, transport, cardinality: "finite" as const },
  });
  queryClient.setQueryData(queryKey, (known) => known && { ...known, domain });
  void changed(listDomains);
}

export function VerifyButton(props: { verification: ReturnType<typeof useVerify>; isSecond?: boolean }) {
  const { verification, isSecond = false } = props;
  const { check, waitSeconds, verify } = verification;
  return (
    <Button
      variant={isSecond ? "default" : undefined}
      onClick={verify}
      loading={check.isPending}
      disabled={waitSeconds > 0}
    >
      {waitSeconds > 0 ? `Check again in ${waitSeconds} s` : "Check DNS now"}
    </Button>
  );
}

/** What the last check said. The line keeps its place, so that nothing jumps when the answer comes. */
export function VerifySaid({ verification }: { verification: ReturnType<typeof useVerify> }) {
  const { check } = verification;
  if (check.error) return <ProblemAlert error={check.error} />;
  return (
    <Text size="sm" role="status" mih={22} className="wrap">
      {check.isPending ? "Asking DNS. This takes up to five seconds." : (check.data?.message ?? "")}
    </Text>
  );
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
