/** The media type of a file by the end of its name, for the files that people attach to emails. attachment.ts calls it. */
const types: ReadonlyMap<string, string> = new Map(
  `pdf application/pdf
  txt text/plain
  log text/plain
  md text/markdown
  csv text/csv
  tsv text/tab-separated-values
  htm text/html
  html text/html
  css text/css
  js text/javascript
  mjs text/javascript
  json application/json
  jsonl application/jsonl
  xml application/xml
  yaml application/yaml
  yml application/yaml
  ics text/calendar
  vcf text/vcard
  eml message/rfc822
  rtf application/rtf
  doc application/msword
  docx application/vnd.openxmlformats-officedocument.wordprocessingml.document
  dotx application/vnd.openxmlformats-officedocument.wordprocessingml.template
  xls application/vnd.ms-excel
  xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
  ppt application/vnd.ms-powerpoint
  pptx application/vnd.openxmlformats-officedocument.presentationml.presentation
  ppsx application/vnd.openxmlformats-officedocument.presentationml.slideshow
  odt application/vnd.oasis.opendocument.text
  ods application/vnd.oasis.opendocument.spreadsheet
  odp application/vnd.oasis.opendocument.presentation
  epub application/epub+zip
  pkpass application/vnd.apple.pkpass
  pem application/x-pem-file
  p7s application/pkcs7-signature
  asc application/pgp-signature
  zip application/zip
  gz application/gzip
  tgz application/gzip
  tar application/x-tar
  bz2 application/x-bzip2
  7z application/x-7z-compressed
  rar application/vnd.rar
  png image/png
  jpg image/jpeg
  jpeg image/jpeg
  gif image/gif
  webp image/webp
  avif image/avif
  heic image/heic
  svg image/svg+xml
  bmp image/bmp
  tif image/tiff
  tiff image/tiff
  ico image/vnd.microsoft.icon
  mp3 audio/mpeg
  m4a audio/mp4
  wav audio/wav
  ogg audio/ogg
  oga audio/ogg
  flac audio/flac
  mp4 video/mp4
  m4v video/mp4
  mov video/quicktime
  webm video/webm
  mpg video/mpeg
  mpeg video/mpeg
  avi video/x-msvideo
  woff font/woff
  woff2 font/woff2
  ttf font/ttf
  otf font/otf`
    .split("\n")
    .map((line) => line.trim().split(" ") as [string, string]),
);

/** Undefined for an unknown ending: the server then uses `application/octet-stream`. */
export function mediaTypeOf(filename: string): string | undefined {
  return types.get(/\.([^./\\]+)$/.exec(filename)?.[1]?.toLowerCase() ?? "");
}
