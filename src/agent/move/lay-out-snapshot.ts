import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parse, parseDocument } from 'yaml'
import { problem } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import type { FullManifest } from '../backup/index.ts'
import { assertSafeFolder, mountSources, plainUrl, readCompose, rewritePlace, rewriteVolumes } from '../boxes/index.ts'
import type { TakeOverRun } from './take-over.ts'

/**
 * Restores the box's own files into this host's folder, changing only what depends on the host: project, volumes, ports and the public
 * address. Begins from an empty folder each time. Throws COMPOSE_INVALID for a stack that reaches outside its folder.
 */
export async function layOutSnapshot(run: TakeOverRun, { paths, box }: FullManifest, signal: AbortSignal): Promise<void> {
  const { deps, payload } = run
  const { folder, name } = run.box.project
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await deps.snapshots.restore(await run.repository(), payload.snapshotId, paths.boxFolder, folder, signal)
  const composeFile = join(folder, basename(box.composeFile))
  const text = await readFile(composeFile, 'utf8')
  assertInsideFolder(text)
  const { binds } = deps.settings
  const placed = rewritePlace(text, { project: name, ports: payload.ports, binds })
  const keys = Object.keys(readCompose(text, name).volumes)
  await writeFileAtomic(composeFile, rewriteVolumes(placed, Object.fromEntries(keys.map((key) => [key, `${name}-${key}`]))), {
    mode: (await stat(composeFile)).mode & 0o777,
  })
  await rewritePublicUrl(folder, plainUrl(payload.publicUrl))
  await assertSafeFolder({ ...run.box.project, composeFile })
}

function assertInsideFolder(text: string): void {
  const { services = {} } = parse(text, { merge: true }) as { services?: Record<string, { volumes?: unknown } | null> }
  for (const [service, facts] of Object.entries(services)) {
    const outside = mountSources(facts?.volumes).find((source) => /^[/~]|\$|(^|\/)\.\.(\/|$)/.test(source))
    if (outside !== undefined)
      throw problem(
        'COMPOSE_INVALID',
        `${service} mounts ${outside}, outside the project folder: such a box cannot be moved. fix: move what it mounts into the folder`,
      )
  }
}

/** The chat server's config and the edge's are the only files with the public address. */
async function rewritePublicUrl(folder: string, publicUrl: string): Promise<void> {
  const config = join(folder, 'synapse', 'homeserver.yaml')
  const text = await readIfThere(config)
  if (text === undefined) return
  const document = parseDocument(text)
  const former = String(document.get('public_baseurl') ?? '').replace(/\/$/, '')
  if (former === publicUrl || former === '') return
  document.set('public_baseurl', `${publicUrl}/`)
  // In place: the file belongs to the chat server's user.
  await writeFile(config, document.toString(), { flush: true })
  const edge = join(folder, 'edge', 'conf.d', 'box.conf')
  const rules = await readIfThere(edge)
  if (rules !== undefined) await writeFile(edge, rules.replaceAll(`"base_url":"${former}"`, `"base_url":"${publicUrl}"`), { flush: true })
}
