/** The button that downloads the records of a domain as a zone file. */
import { useMutation } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { download } from "../parts/download.ts";
import { ProblemAlert } from "../parts/states.tsx";

export function ZoneFileButton({ id }: { id: string }) {
  const file = useMutation(DomainService.method.getZoneFile, {
    onSuccess: ({ fileName, content }) => download(fileName, content, "text/dns"),
  });
  return (
    <>
      {file.error && <ProblemAlert error={file.error} />}
      <Button
        variant="default"
        loading={file.isPending}
        onClick={() => file.mutate({ id })}
        title="The records in the syntax of BIND, for DNS providers that import a zone file"
      >
        Zone file
      </Button>
    </>
  );
}
