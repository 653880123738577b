import { problem } from '../../core/kit/index.ts'
import { waitUntil } from '../boxes/index.ts'
import type { ForeignStack } from '../ports/index.ts'
import type { ImportDeps } from './import-run.ts'

const ids = (containers: ForeignStack['last']): string[] => containers.map(({ id }) => id)

/** Stops what writes. The database server continues: its data are dumped. Throws BOX_UNHEALTHY for a container that still runs. */
export async function stopStack({ engine }: Pick<ImportDeps, 'engine'>, { stopped }: ForeignStack, signal: AbortSignal): Promise<void> {
  await engine.stopContainers(ids(stopped))
  signal.throwIfAborted()
  const running = await engine.hostContainers()
  const alive = running.find(({ id }) => ids(stopped).includes(id))
  if (alive) throw problem('BOX_UNHEALTHY', `${alive.name} did not stop`)
}

/** True while nothing of the stack runs that writes, also under a new id. */
export async function isQuiet({ engine }: Pick<ImportDeps, 'engine'>, { project, stopped }: ForeignStack): Promise<boolean> {
  const names = stopped.map(({ name }) => name)
  const running = await engine.hostContainers()
  return !running.some((one) => one.project === project && (ids(stopped).includes(one.id) || names.includes(one.name)))
}

/** A large database recovers within this time. */
const answerMs = 5 * 60_000

/** Starts the same containers again, each after what it needs, and waits until they run and the chat server answers. Throws BOX_UNHEALTHY. */
export async function startStack(
  { engine, clock, foreign }: Pick<ImportDeps, 'engine' | 'clock' | 'foreign'>,
  { project, last, stopped, addresses }: ForeignStack,
  signal: AbortSignal,
): Promise<void> {
  const containers = [...last, ...stopped.toReversed()]
  await engine.startContainers(containers)
  const isUp = async () => {
    const running = (await engine.hostContainers()).map(({ id }) => id)
    if (!containers.every(({ id }) => running.includes(id))) return false
    const answers = await Promise.all(addresses.map((place) => foreign.answers(place, signal)))
    return answers.every(Boolean)
  }
  if (await waitUntil({ clock, everyMs: 1_000, timeoutMs: answerMs, signal }, isUp)) return
  const names = containers.map(({ name }) => name).join(' ')
  throw problem(
    'BOX_UNHEALTHY',
    `The stack ${project} was started and does not answer. fix: docker start ${names}; docker logs ${names.split(' ')[0]}`,
  )
}

/** The stack is stopped again, database included. */
export const haltStack = ({ engine }: Pick<ImportDeps, 'engine'>, { last, stopped }: ForeignStack): Promise<void> =>
  engine.stopContainers([...ids(stopped), ...ids(last)])
