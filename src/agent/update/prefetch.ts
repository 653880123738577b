import type { BoxCommandResult } from '../../core/boxes/index.ts'
import { dataFolders, fetchRepository } from '../backup/index.ts'
import { boxOfCommand, bringImages, keepImage, migrationsFor, needManaged } from '../boxes/index.ts'
import type { ChangeDeps } from '../change/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { needSameLibc } from './need-same-libc.ts'

const kind = 'tenant-box.prefetch'
type Payload = Parameters<CommandExecutor<typeof kind>>[1]
type Result = BoxCommandResult<typeof kind>

/** Brings all images of an update and a warm copy of media and objects while the box serves, so that the fence stands shortly. */
export const prefetch =
  (deps: ChangeDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      { context, kind, payload },
      { admit: () => managedBox(deps, payload), perform: () => bringAll(deps, context, payload) },
    )

async function managedBox({ boxes }: ChangeDeps, payload: Payload): Promise<LocalBox> {
  const box = await boxOfCommand(boxes, payload)
  needManaged(box, 'updating')
  return box
}

async function bringAll(deps: ChangeDeps, context: CommandContext, payload: Payload): Promise<Result> {
  const { clock } = deps
  const box = await managedBox(deps, payload)
  const begun = clock.monotonicMs()
  await migrationsFor(deps, context, box, payload.targets.migrationsHead)
  await keepFormer(deps, context, box)
  const { services } = payload.targets
  const digests = await bringImages(deps, { images: services, pin: box.slug, step: 'pull', context, signal: context.signal })
  await refuseOtherLibc(deps, box, payload)
  const pulledMs = clock.monotonicMs() - begun
  await warmSnapshot(deps, context, box)
  return { digests, pulledMs }
}

async function refuseOtherLibc(deps: ChangeDeps, box: LocalBox, { targets }: Payload): Promise<void> {
  const to = targets.services.postgres?.image
  const from = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')?.image
  if (to !== undefined && from !== undefined && from !== to) await needSameLibc(deps, box, from, to)
}

// What runs must still be here when the update has to go back.
async function keepFormer(deps: ChangeDeps, { signal }: CommandContext, box: LocalBox): Promise<void> {
  for (const { image, digest } of await deps.engine.containers(box.project))
    await keepImage(deps, { image, digest: digest ?? undefined, signal }, box.slug)
}

async function warmSnapshot(deps: ChangeDeps, context: CommandContext, box: LocalBox): Promise<void> {
  const repository = await fetchRepository(context)
  context.progress({ step: 'warm-snapshot' })
  await deps.snapshots.prepare(repository)
  const paths = (await dataFolders(deps.engine, box)).map(({ folder }) => folder)
  if (paths.length === 0) return
  const { commandId, signal } = context
  await deps.snapshots.take(repository, { tier: 'pre-update', commandId, slug: box.slug, paths, warm: true }, signal)
}
