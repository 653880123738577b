import { parseImage, type VersionedService } from '../../core/boxes/index.ts'

/** What a server says of itself, brought to the form that the manifest uses. */
const patterns = {
  synapse: /\d+\.\d+(?:\.\d+)?(?:rc\d+)?/,
  postgres: /\d+(?:\.\d+)+|\d+(?:beta|rc)\d+/,
  minio: /RELEASE\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z(?:\.[a-z0-9.]+)?/,
} as const satisfies Record<VersionedService, RegExp>

/** The server's own word first, then the tag of what runs, then `unknown`. */
export function installedVersion(service: VersionedService, said: string | undefined, runningImage: string | undefined): string {
  const tag = runningImage === undefined ? undefined : parseImage(runningImage).tag
  return patterns[service].exec(said ?? '')?.[0] ?? patterns[service].exec(tag ?? '')?.[0] ?? 'unknown'
}
