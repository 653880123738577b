import { problem } from '../../core/kit/index.ts'
import type { ComposeFacts } from '../boxes/index.ts'
import type { GuardedRun } from './guarded-run.ts'
import { waitForDatabase } from './start-services.ts'
import { dropTries } from './tries.ts'

/** The key of PostgreSQL's volume in the compose file, and its real name. */
export type DatabaseVolume = NonNullable<ComposeFacts['database']>

/** Throws COMPOSE_INVALID: a database that lies elsewhere has no second one beside it. */
export function needDatabaseVolume({ box }: Pick<GuardedRun, 'box'>, { database }: ComposeFacts): DatabaseVolume {
  if (database) return database
  throw problem(
    'COMPOSE_INVALID',
    `${box.project.composeFile} gives PostgreSQL no named volume for its data, so there is no way back from a change, and nothing can be restored beside it`,
  )
}

/** What is read or filled must be the volume that is meant: the former one is the only copy of what it holds. Throws RESTORE_FAILED. */
export async function needMounted({ deps, box }: Pick<GuardedRun, 'deps' | 'box'>, volume: string): Promise<void> {
  const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (!database?.volumes.includes(volume))
    throw problem(
      'RESTORE_FAILED',
      `the database of ${box.slug} did not get the volume ${volume} but ${database?.volumes.join(', ') || 'none'}`,
    )
}

/**
 * Brings up the database, with the volume that the compose file names now, and drops those of other tries.
 */
export async function upDatabaseOn(run: GuardedRun, volume: string, tries: readonly string[]): Promise<void> {
  const given = tries.filter((name) => name !== volume)
  await discardDatabaseOn(run, given)
  await run.deps.engine.up(run.box.project, ['postgres'], run.signal)
  await needMounted(run, volume)
  await dropTries(run.deps, given)
  await waitForDatabase(run)
}

/**
 * The server of a try that was given up is taken away by force: what it holds is thrown away, and one that has just been started may not hear that
 * it is to stop, so that the engine would wait for the two minutes that a database may take for it.
 */
async function discardDatabaseOn({ deps, box }: Pick<GuardedRun, 'deps' | 'box'>, given: readonly string[]): Promise<void> {
  const containers = await deps.engine.containers(box.project)
  const isGiven = containers.some(({ service, volumes }) => service === 'postgres' && volumes.some((name) => given.includes(name)))
  if (isGiven) await deps.engine.discard(box.project, ['postgres'])
}
