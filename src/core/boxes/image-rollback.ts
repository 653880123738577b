import { plural } from '../kit/index.ts'
import type { BoxFacts, ImageRollback } from './command-parts.ts'

type Facts = Pick<BoxFacts, 'compatVersion' | 'backgroundUpdates'>
type Evidence = Readonly<{
  /** The newest schema that the former chat server reads; undefined where the daemon does not know it. */
  formerSchema: number | undefined
  /** Background updates that the former chat server was running; null where they were unknown. */
  backgroundBefore: readonly string[] | null
  /** Background updates that the former chat server need not know. */
  harmlessUpdates?: readonly string[] | undefined
  /** The database as the new version left it; undefined while it does not answer. */
  now: Facts | undefined
  /** Services whose image changed. */
  changed: readonly string[]
}>

/** Whether the former images can serve the present data, so that a rollback to them loses nothing. What is unknown counts as impossible. */
export function imageRollback({ formerSchema, backgroundBefore, harmlessUpdates = [], now, changed }: Evidence): ImageRollback {
  const no = (reason: string): ImageRollback => ({ possible: false, reason })
  if (changed.includes('minio')) return no('MinIO does not support a downgrade')
  if (formerSchema === undefined) return no('it is unknown which database schemas the former version reads')
  if (!now) return no('the database does not answer')
  const { compatVersion, backgroundUpdates } = now
  if (compatVersion === null || backgroundUpdates === null) return no('the schema or the background updates of the database are unknown')
  if (compatVersion > formerSchema)
    return no(`the database is readable from schema ${compatVersion} on, and the former version reads up to ${formerSchema}`)
  const unknown = unknownUpdates(backgroundUpdates, [...(backgroundBefore ?? []), ...harmlessUpdates])
  if (unknown.length === 0) return { possible: true }
  const some = `${unknown.slice(0, 3).join(', ')}${unknown.length > 3 ? ', …' : ''}`
  return no(`${plural(unknown.length, 'background update')} pending that the former version may not know: ${some}`)
}

/** The pending background updates for which no proof exists that a former version may meet them. */
export const unknownUpdates = (pending: readonly string[], known: readonly string[]): string[] =>
  pending.filter((name) => !known.includes(name))
