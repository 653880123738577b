import { problem, sha256Hex } from '../../core/kit/index.ts'
import type { SagaFacts } from '../../core/saga/index.ts'
import type { ComposeFacts } from '../boxes/index.ts'
import type { ChangeRun } from './run.types.ts'
import { waitForDatabase } from './services.ts'

/** The key of PostgreSQL's volume in the compose file, and its real name. */
export type DatabaseVolume = NonNullable<ComposeFacts['database']>

/** Throws COMPOSE_INVALID for a database without a named volume: no second one can be made beside it. */
export function assertDatabaseVolume({ box }: Pick<ChangeRun, 'box'>, { database }: ComposeFacts): DatabaseVolume {
  if (database) return database
  throw problem(
    'COMPOSE_INVALID',
    `${box.project.composeFile} has no named volume for the data of PostgreSQL, so the box can be neither rolled back nor restored. fix: move the data to a named volume`,
  )
}

/** Throws RESTORE_FAILED when PostgreSQL does not mount this volume. The former volume is the only copy of its data. */
export async function assertMounted({ deps, box }: Pick<ChangeRun, 'deps' | 'box'>, volume: string): Promise<void> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (!database?.volumes.includes(volume))
    throw problem(
      'RESTORE_FAILED',
      `the database of ${box.slug} mounts ${database?.volumes.join(', ') || 'no volume'} instead of ${volume}`,
    )
}

/** Starts the database on the volume that the compose file names now, and removes the volumes of other tries. */
export async function startDatabaseOn(run: ChangeRun, volume: string, tries: readonly string[]): Promise<void> {
  const abandoned = tries.filter((name) => name !== volume)
  await discardDatabaseOn(run, abandoned)
  await run.deps.engine.up(run.box.project, ['postgres'], run.signal)
  await assertMounted(run, volume)
  await removeVolumes(run.deps, abandoned)
  await waitForDatabase(run)
}

/** Kills the server of an abandoned try: its data are discarded, and a server that has just started may miss the signal to stop. */
async function discardDatabaseOn({ deps, box }: Pick<ChangeRun, 'deps' | 'box'>, abandoned: readonly string[]): Promise<void> {
  const containers = await deps.engine.containers(box.project)
  const runs = containers.some(({ service, volumes }) => service === 'postgres' && volumes.some((name) => abandoned.includes(name)))
  if (runs) await deps.engine.discard(box.project, ['postgres'])
}

/** Volumes are named after the command and the try: one that a kill left half-filled is never filled further. */
export const volumeOfTry = ({ context }: Readonly<{ context: Readonly<{ commandId: string }> }>, former: string, number: number): string =>
  `${former.replace(/-r[0-9a-f]{8}-[0-9]+$/, '')}-r${sha256Hex(context.commandId).slice(0, 8)}-${number}`

/** The replacement volumes of all tries of a step; the present try's last. */
export function volumesOfTries<Step extends string>(
  run: Pick<ChangeRun, 'context'> & Readonly<{ facts(): SagaFacts<Step> }>,
  step: Step,
  former: string,
): string[] {
  return Array.from({ length: run.facts().tries[step] ?? 0 }, (_, index) => volumeOfTry(run, former, index + 1))
}

/** Frees the disk that abandoned tries have filled. A volume that cannot be removed now is removed at the end. */
export async function removeVolumes({ engine }: Pick<ChangeRun['deps'], 'engine'>, volumes: readonly string[]): Promise<void> {
  for (const volume of volumes) await engine.removeVolume(volume).catch(() => undefined)
}
