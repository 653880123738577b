import type { BoxCommandResult } from '../../core/boxes/index.ts'
import { dataFolders, fetchRepository } from '../backup/index.ts'
import { boxOfCommand, bringImages, keepImage, migrationsFor, needManaged } from '../boxes/index.ts'
import { onceToAnEnd } from '../course/index.ts'
import type { GuardedNeeds } from '../guarded/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { needSameLibc } from './need-same-libc.ts'

const kind = 'tenant-box.prefetch'
type Payload = Parameters<CommandExecutor<typeof kind>>[1]
type Result = BoxCommandResult<typeof kind>

/** Brings all images of an update and a warm copy of media and objects while the box serves, so that the fence stands shortly. */
export const prefetch =
  (needs: GuardedNeeds): CommandExecutor<typeof kind> =>
  (context, payload) =>
    onceToAnEnd(
      needs.once,
      context,
      { kind, payload },
      { admit: () => managedBox(needs, payload), perform: () => bringAll(needs, context, payload) },
    )

async function managedBox({ boxes }: GuardedNeeds, payload: Payload): Promise<LocalBox> {
  const box = await boxOfCommand(boxes, payload)
  needManaged(box, 'updating')
  return box
}

async function bringAll(needs: GuardedNeeds, context: CommandContext, payload: Payload): Promise<Result> {
  const { clock } = needs
  const box = await managedBox(needs, payload)
  const begun = clock.monotonicMs()
  await migrationsFor(needs, context, box, payload.targets.migrationsHead)
  await keepFormer(needs, context, box)
  const { services } = payload.targets
  const digests = await bringImages(needs, { images: services, pin: box.slug, step: 'pull', context, signal: context.signal })
  await refuseOtherLibc(needs, box, payload)
  const pulledMs = clock.monotonicMs() - begun
  await warmSnapshot(needs, context, box)
  return { digests, pulledMs }
}

async function refuseOtherLibc(needs: GuardedNeeds, box: LocalBox, { targets }: Payload): Promise<void> {
  const to = targets.services.postgres?.image
  const from = (await needs.engine.containers(box.project)).find(({ service }) => service === 'postgres')?.image
  if (to !== undefined && from !== undefined && from !== to) await needSameLibc(needs, box, from, to)
}

// What runs must still be here when the update has to go back.
async function keepFormer(needs: GuardedNeeds, { signal }: CommandContext, box: LocalBox): Promise<void> {
  for (const { image, digest } of await needs.engine.containers(box.project))
    await keepImage(needs, { image, digest: digest ?? undefined, signal }, box.slug)
}

async function warmSnapshot(needs: GuardedNeeds, context: CommandContext, box: LocalBox): Promise<void> {
  const repository = await fetchRepository(context)
  context.progress({ step: 'warm-snapshot' })
  await needs.snapshots.prepare(repository)
  const paths = (await dataFolders(needs.engine, box)).map(({ folder }) => folder)
  if (paths.length === 0) return
  const { commandId, signal } = context
  await needs.snapshots.take(repository, { tier: 'pre-update', commandId, slug: box.slug, paths, warm: true }, signal)
}
