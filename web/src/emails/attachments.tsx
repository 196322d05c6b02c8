/** The attachments of an email, with download buttons. */
import { Button, Group, Stack, Text } from "@mantine/core";
import type { AttachmentInfo } from "../../../src/gen/v1/email_pb.ts";
import { download } from "../parts/download.ts";
import { ProblemAlert } from "../parts/states.tsx";
import type { RawAttachment } from "./parse-raw.ts";

export function Attachments(props: { listed: AttachmentInfo[]; files: RawAttachment[] | undefined; error: unknown }) {
  const { listed, files, error } = props;
  return (
    <Stack gap="sm">
      {Boolean(error) && <ProblemAlert error={error} />}
      <Stack component="ul" gap={0} className="list framed" aria-label="Attachments">
        {listed.map(({ filename, contentType, sizeBytes, contentId }, index) => (
          <Group component="li" key={`${filename} ${contentId} ${sizeBytes}`} justify="space-between" p="sm">
            <div className="wrap">
              <Text className="wrap">{filename}</Text>
              <Text size="sm" c="dimmed" className="wrap">
                {contentType} · {formatSize(sizeBytes)}
                {contentId !== "" && ` · inline image ${contentId}`}
              </Text>
            </div>
            <Button
              size="xs"
              variant="default"
              disabled={!files?.[index]}
              aria-label={`Download ${filename}`}
              // A generic type instead of the file's own, so that the browser saves the file and never opens it as a page.
              onClick={() => download(filename, files![index]!.content, "application/octet-stream")}
            >
              Download
            </Button>
          </Group>
        ))}
      </Stack>
    </Stack>
  );
}

/** Formats a number of bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
