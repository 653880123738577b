import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { VersionedService } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { needRoom, type Part, roomForDump, volumeBytes } from '../backup/index.ts'
import { bringImages, keepImage, migrationsFor, needSafeFolder, refuseOtherDatabases } from '../boxes/index.ts'
import { readComposeText } from '../change/index.ts'
import { targetText } from './compose-switch.ts'
import type { Before } from './evidence.ts'
import { observeBefore } from './former-box.ts'
import { needSameLibc } from './need-same-libc.ts'
import type { UpdateRun } from './update-run.ts'

/**
 * Everything that can be found out, fetched or refused while the box serves. After it the update needs nobody but this host:
 * the snapshot password is here, all images are here and kept from being pruned, there is room, and compose would recreate only what is planned.
 */
export async function getReady(run: UpdateRun): Promise<Before> {
  const { box, deps, payload, context } = run
  await needSafeFolder(box.project)
  const before = await observeBefore(run)
  await refuseOtherDatabases(deps, box)
  const migrations = await migrationsFor(deps, context, box, payload.targets.migrationsHead)
  await deps.snapshots.prepare(await run.repository())
  await keepAndBring(run, before)
  const [from, to] = [before.containers.postgres, payload.targets.services.postgres]
  if (from && to && before.planned.includes('postgres')) await needSameLibc(deps, box, from.image, to.image)
  const room = await needRoomBeside(run, before)
  await refuseOtherRecreations(run, before)
  return { ...before, migrations, room }
}

async function keepAndBring({ deps, payload, box, signal, context }: UpdateRun, { containers, planned }: Before): Promise<void> {
  for (const service of VersionedService.options) {
    const former = containers[service]
    if (former) await keepImage(deps, { image: former.image, digest: former.digest ?? undefined, signal }, box.slug)
  }
  const images = Object.fromEntries(planned.map((service) => [service, payload.targets.services[service]]))
  await bringImages(deps, { images, pin: box.slug, step: 'prefetch', context, signal })
}

/** At most one dump, and at worst a second database beside the first. */
async function needRoomBeside({ deps, box, context, repository }: UpdateRun, before: Before): Promise<Part[]> {
  const bytes = await volumeBytes(deps, [before.database.volume])
  const second = { path: (await deps.engine.volumesFolder()) ?? deps.workFolder, bytes }
  const room = [...roomForDump(deps.workFolder, await repository(), bytes), second]
  await needRoom(deps.disk, { commandId: context.commandId, what: `updating ${box.slug}` }, room)
  return room
}

/** Asks compose what it would label each service with under the target file, and refuses when that hits a service outside the plan. */
async function refuseOtherRecreations({ deps, box, ...run }: UpdateRun, before: Before): Promise<void> {
  const text = targetText({ deps, box, ...run }, await readComposeText(box), before.planned)
  const candidate = join(dirname(box.project.composeFile), '.compose.candidate.yaml')
  await writeFileAtomic(candidate, text)
  try {
    const hashes = await deps.engine.configHashes({ ...box.project, composeFile: candidate })
    const containers = await deps.engine.containers(box.project)
    const hit = containers.filter(({ service, configHash }) => !isPlanned(before, service) && !hashes[service]?.includes(configHash ?? ''))
    if (hit.length === 0) return
    const names = hit.map(({ service }) => service).join(', ')
    throw problem(
      'PREFLIGHT_REFUSED',
      `compose would also recreate ${plural(hit.length, 'service')} outside the plan: ${names}; the compose file was changed by hand: undo that, or bring the box up with it first`,
    )
  } finally {
    await rm(candidate, { force: true })
  }
}

const isPlanned = ({ planned }: Before, service: string): boolean => (planned as readonly string[]).includes(service)
