/** The number of files and sockets that the operating system lets this process have open. */

type UserLimits = { userLimits?: { open_files?: { soft?: number | string } } };

/** Undefined where the system does not tell, or has no limit. Node has raised the soft limit to the hard one at its start. */
export function openFilesLimit(): number | undefined {
  const report = process.report.getReport() as UserLimits;
  const limit = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(limit) && limit > 0 ? limit : undefined;
}
