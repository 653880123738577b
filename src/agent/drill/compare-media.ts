import type { DrilledMedia } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { FullManifest } from '../backup/index.ts'
import { sumPlainFile } from '../boxes/index.ts'
import type { MediaSample } from '../ports/index.ts'
import { startDatabase, templateVolumes } from '../rebuild/index.ts'
import type { DrillRun } from './drill-run.ts'

/** Few enough to read them in seconds; the random ones differ from drill to drill. */
const sampled = { newest: 5, random: 5 } as const

type Compared = Readonly<{ manifest: FullManifest; signal: AbortSignal }>

/**
 * Compares a sample of the restored media files with what the database of the snapshot knows of them. It runs before the chat server, which
 * may delete media. Throws RESTORE_FAILED for a file that differs, MEDIA_UNPROVEN if fewer were sampled than the snapshot's manifest counts.
 */
export async function compareMedia({ deps, copy }: DrillRun, { manifest, signal }: Compared): Promise<DrilledMedia> {
  await startDatabase(deps, copy, signal)
  const { withoutFile, sample } = await deps.servers.sampleMedia(copy, sampled, signal)
  const counted = manifest.rows.local_media_repository
  if (counted === undefined) throw unproven(`the snapshot of ${manifest.slug} does not count its media`)
  const files = Math.max(0, counted - withoutFile)
  if (sample.length < Math.min(files, sampled.newest + sampled.random))
    throw unproven(
      `the snapshot of ${manifest.slug} counts ${plural(files, 'media file')}, but only ${sample.length} could be read from its database`,
    )
  const folder = await deps.engine.volumePath(`${copy.project.name}-${templateVolumes.synapse}`)
  if (folder === undefined) throw problem('RESTORE_FAILED', `the copy ${copy.project.name} has no media volume on this machine`)
  const wrong = []
  for (const file of sample) wrong.push(...(await differences(folder, file, signal)))
  if (wrong.length > 0)
    throw problem(
      'RESTORE_FAILED',
      `${wrong.length} of ${plural(sample.length, 'sampled media file')} of ${manifest.slug} differ from its database: ${wrong.slice(0, 3).join('; ')}. fix: take a new snapshot (\`tenantry snapshots take ${manifest.slug} --wait\`), then drill it`,
    )
  return { files, sampled: sample.length, hashed: sample.filter(({ sha256 }) => sha256 !== null).length }
}

const unproven = (what: string) =>
  problem('MEDIA_UNPROVEN', `${what}, so nothing proves them. fix: compare them by hand (docs/snapshots.md, Media in a drill)`)

async function differences(folder: string, { path, bytes, sha256 }: MediaSample['sample'][number], signal: AbortSignal): Promise<string[]> {
  const found = await sumPlainFile(folder, path, signal)
  if (found === undefined) return [`${path} is missing`]
  if (found === 'special') return [`${path} is not a regular file`]
  if (found.bytes !== bytes) return [`${path} has ${found.bytes} bytes instead of ${bytes}`]
  return sha256 === null || found.sha256 === sha256 ? [] : [`${path} has another checksum`]
}
