import { type BoxCommandResult, majorOfImage } from '../../core/boxes/index.ts'
import { dataFolders, fetchRepository, prepareRepository, reportWaiting } from '../backup/index.ts'
import { assertManaged, boxOfCommand, migrationsFor, pinImage, pullImages } from '../boxes/index.ts'
import type { ChangeDeps } from '../change/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { assertSameLibc } from './prepare.ts'

const kind = 'tenant-box.prefetch'
type Payload = Parameters<CommandExecutor<typeof kind>>[1]
type Result = BoxCommandResult<typeof kind>

/** Pulls all images of an update and takes a warm snapshot of media and objects while the box serves, to shorten the fence. */
export const prefetch =
  (deps: ChangeDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      { context, kind, payload },
      { admit: () => managedBox(deps, payload), perform: () => pullAndWarm(deps, context, payload) },
    )

async function managedBox({ boxes }: ChangeDeps, payload: Payload): Promise<LocalBox> {
  const box = await boxOfCommand(boxes, payload)
  assertManaged(box)
  return box
}

async function pullAndWarm(deps: ChangeDeps, context: CommandContext, payload: Payload): Promise<Result> {
  const { clock } = deps
  const box = await managedBox(deps, payload)
  const begun = clock.monotonicMs()
  await migrationsFor({ ...deps, ...context }, box, payload.targets.migrationsHead)
  await pinFormerImages(deps, context, box)
  const { services } = payload.targets
  const digests = await pullImages(deps, { images: services, pin: box.slug, step: 'pull', context, signal: context.signal })
  await assertTargetLibc(deps, box, payload)
  const pulledMs = clock.monotonicMs() - begun
  await takeWarmSnapshot(deps, context, box)
  return { digests, pulledMs }
}

async function assertTargetLibc(deps: ChangeDeps, box: LocalBox, { targets }: Payload): Promise<void> {
  const to = targets.services.postgres?.image
  const from = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')?.image
  if (to === undefined || from === undefined || from === to) return
  // Another major version is loaded, which builds all indexes again.
  if (majorOfImage(from) === majorOfImage(to)) await assertSameLibc(deps, box, { from, to })
}

/** A rollback needs the images that run now. */
async function pinFormerImages(deps: ChangeDeps, { signal }: CommandContext, box: LocalBox): Promise<void> {
  for (const { image, digest } of await deps.engine.containers(box.project))
    await pinImage(deps, { image, digest: digest ?? undefined, signal }, box.slug)
}

async function takeWarmSnapshot(deps: ChangeDeps, context: CommandContext, box: LocalBox): Promise<void> {
  const repository = await fetchRepository(context)
  context.progress({ step: 'warm-snapshot' })
  await prepareRepository(deps, context, repository)
  const paths = (await dataFolders(deps.engine, box)).map(({ folder }) => folder)
  const { commandId, signal } = context
  const onWaiting = reportWaiting(context, 'warm-snapshot')
  await deps.snapshots.take(repository, { tier: 'pre-update', commandId, slug: box.slug, paths, warm: true, onWaiting }, signal)
}
